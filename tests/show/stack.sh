# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the show scripts: a built tree and a server with workers of its own, all gone when the script ends. Sets
# $work (a fresh directory), $bin, and STEPCURVE_SERVER once start_server has run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=$PWD/build/release/bin
work=$(mktemp -d /tmp/stepcurve-show.XXXXXX)
chmod 755 "$work"
children=()

finish() {
  local status=$?
  for child in ${children[@]+"${children[@]}"}; do
    kill "$child" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  if [ $status -ne 0 ]; then
    for log in "$work"/*.log; do
      if [ -f "$log" ]; then
        echo "--- the end of $(basename "$log")" >&2
        tail -n 20 "$log" >&2
      fi
    done
  fi
  rm -rf "$work"
  exit $status
}
trap finish EXIT

missed() {
  echo "MISSED: $*" >&2
  exit 1
}

build() {
  deploy/install-deps
  cmake --preset release -Wno-dev >/dev/null
  cmake --build --preset release -- --quiet "$@"
}

# start_server [FLAG...]: returns once it serves. The first start picks a port; later ones take the same again.
start_server() {
  rm -f "$work/port"
  "$bin/stepcurve-server" --listen="${STEPCURVE_SERVER:-127.0.0.1:0}" --data_dir="$work/data" --port_file="$work/port" \
    "$@" >>"$work/server.log" 2>&1 &
  server=$!
  children+=("$server")
  for _ in $(seq 600); do
    if [ -s "$work/port" ]; then
      STEPCURVE_SERVER=127.0.0.1:$(cat "$work/port")
      export STEPCURVE_SERVER
      return
    fi
    kill -0 "$server" 2>/dev/null || missed "the server did not start"
    sleep 0.1
  done
  missed "the server did not start within a minute"
}

# start_worker NAME [FLAG...]: in the background; its process id is left in $worker.
start_worker() {
  local name=$1
  shift
  "$bin/stepcurve-worker" --server="$STEPCURVE_SERVER" --name="$name" "$@" >>"$work/$name.log" 2>&1 &
  worker=$!
  children+=("$worker")
}

# sql QUERY: what the server's own database answers, unaligned.
sql() {
  local pid_file
  pid_file=$(find "$work/data" -name postmaster.pid | head -n 1)
  psql -h "$(sed -n 5p "$pid_file")" -U stepcurve -d postgres -AtXc "$1"
}

stepcurve() {
  "$bin/stepcurve" "$@"
}

seconds_since() {
  echo $(($(date +%s) - $1))
}
