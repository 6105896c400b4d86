# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the end-to-end tests, which ctest calls with the folder of the programs: one server with a private PostgreSQL,
# all gone when the script ends.
set -euo pipefail
bin=$1
work=$(mktemp -d /tmp/stepcurve-e2e.XXXXXX)
chmod 755 "$work"
children=()
failures=0

finish() {
  local status=$?
  for child in ${children[@]+"${children[@]}"}; do
    kill "$child" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  if [ $status -ne 0 ] || [ $failures -ne 0 ]; then
    tail -n 20 "$work"/*.log >&2 || true
  fi
  rm -rf "$work"
  [ $failures -eq 0 ] || exit 1
  exit $status
}
trap finish EXIT

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

start_server() {
  rm -f "$work/port"
  "$bin/stepcurve-server" --listen="${STEPCURVE_SERVER:-127.0.0.1:0}" --data_dir="$work/data" --port_file="$work/port" "$@" \
    >>"$work/server.log" 2>&1 &
  server=$!
  children+=("$server")
  local tries=0
  until [ -s "$work/port" ]; do
    kill -0 "$server" 2>/dev/null && [ $((tries += 1)) -lt 600 ] || { echo "the server did not start" >&2; exit 1; }
    sleep 0.1
  done
  STEPCURVE_SERVER=127.0.0.1:$(cat "$work/port")
  export STEPCURVE_SERVER
}

start_worker() {
  "$bin/stepcurve-worker" --server="$STEPCURVE_SERVER" "$@" >>"$work/worker.log" 2>&1 &
  worker=$!
  children+=("$worker")
}

# expect STATUS REGEX COMMAND...: runs the command; its exit status and what it says on stderr are as expected, and stderr is
# one line.
expect() {
  local status=$1 regex=$2 got=0
  shift 2
  "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || got=$?
  [ $got -eq "$status" ] || fail "$* exits $got, not $status: $(head -n 3 "$work/stderr")"
  if [ -n "$regex" ]; then
    grep -qE -- "$regex" "$work/stderr" || fail "$* says: $(head -n 3 "$work/stderr"); not: $regex"
    [ "$(wc -l <"$work/stderr")" -eq 1 ] || fail "$* says $(wc -l <"$work/stderr") lines: $(cat "$work/stderr")"
  fi
}
