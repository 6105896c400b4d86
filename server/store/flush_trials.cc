// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_trials.h"

#include <algorithm>
#include <string>

#include "proto/support/status_macros.h"
#include "server/store/copy_writer.h"

namespace stepcurve {
namespace {

constexpr char kReadTrials[] = R"sql(
SELECT t.id, t.study_id, t.strand_id, t.number, t.attempt, t.session_id, t.state, t.end_reason, t.base_step,
       t.last_step, t.crashes, (extract(epoch FROM t.grant_time) * 1000000)::bigint, coalesce(t.slot_class, -1)
  FROM unnest($1) u(id)
  JOIN trials t ON t.id = u.id)sql";

constexpr char kCopyChunks[] =
    "COPY chunks (trial_id, attempt, first_step, last_step, train_seconds, eval_seconds, steps, \"values\")"
    " FROM STDIN (FORMAT binary)";

// CASE keeps the planner from the guess that hardly any trial runs, and so from scanning all of them for those.
// -2 stands for "not started", -1 for "no end step" and for "no new times", '' for no reason and no error.
constexpr char kMoveTrials[] = R"sql(
UPDATE trials t
   SET state = u.state::trial_state, base_step = nullif(u.base_step, -2), last_step = u.last_step,
       session_id = CASE WHEN u.state = 'running' THEN t.session_id END,
       slot_class = CASE WHEN u.state = 'running' THEN t.slot_class END,
       end_step = nullif(u.end_step, -1),
       end_reason = nullif(u.reason, '')::end_reason,
       end_time = CASE WHEN u.reason <> '' THEN clock_timestamp() END,
       train_seconds = CASE WHEN u.train_seconds < 0 THEN t.train_seconds ELSE u.train_seconds END,
       eval_seconds = CASE WHEN u.train_seconds < 0 THEN t.eval_seconds ELSE u.eval_seconds END,
       crashes = u.crashes,
       error = CASE WHEN u.error <> '' THEN u.error WHEN u.reason = '' THEN t.error END
  FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       u(id, attempt, old_base, old_last, state, base_step, last_step, end_step, reason, train_seconds, eval_seconds,
         crashes, error)
 WHERE t.id = u.id AND t.attempt = u.attempt AND CASE WHEN t.state = 'running' THEN true END
   AND t.last_step = u.old_last AND coalesce(t.base_step, -2) = u.old_base)sql";

constexpr char kCopyAttempts[] =
    "COPY past_attempts (trial_id, attempt, session_id, slot_class, base_step, last_step, start_time, outcome, error,"
    " log_tail) FROM STDIN (FORMAT binary)";

constexpr char kRequeue[] =
    "INSERT INTO requeued (trial_id, strand_id, avoid) SELECT u.id, u.strand, nullif(u.avoid, 0)"
    "  FROM unnest($1, $2, $3) u(id, strand, avoid)";

constexpr char kCopyRecords[] =
    "COPY records (trial_id, study_id, number, offsets, steps, \"values\") FROM STDIN (FORMAT binary)";

constexpr size_t kMostPoints = 1024;
constexpr size_t kRowBytes = 7900;  // Of arrays in a row that needs no TOAST: toast_tuple_target less the rest.
constexpr size_t kMostLog = 16 * 1024;

size_t PointsPerChunk(size_t metrics) {
  return std::clamp(kRowBytes / (sizeof(double) * (metrics + 1)), size_t{1}, kMostPoints);
}

template <typename Labels>
size_t IndexOf(const Labels& labels, std::string_view label) {
  return static_cast<size_t>(std::find(labels.begin(), labels.end(), absl::string_view(label.data(), label.size())) -
                             labels.begin());
}

std::string Text(absl::string_view text) { return std::string(text); }

}  // namespace

absl::StatusOr<TrialSnapshots> ReadTrials(PgConnection& connection, absl::Span<const AttemptEvents> batch) {
  std::vector<int64_t> ids;
  ids.reserve(batch.size());
  for (const AttemptEvents& events : batch) {
    ids.push_back(events.trial);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult rows, connection.Execute(kReadTrials, PgParams().Int64s(ids)));
  TrialSnapshots trials;
  trials.reserve(ids.size());
  for (int row = 0; row < rows.rows(); ++row) {
    TrialSnapshot& trial = trials[rows.Int64(row, 0)];
    trial.trial = rows.Int64(row, 0);
    trial.study = rows.Int64(row, 1);
    trial.strand = rows.Int64(row, 2);
    trial.number = rows.Int64(row, 3);
    trial.attempt = rows.Int64(row, 4);
    trial.session = rows.OptionalInt64(row, 5).value_or(0);
    trial.state = static_cast<TrialState>(IndexOf(kTrialStateNames, rows.Text(row, 6)));
    if (!rows.IsNull(row, 7)) {
      trial.end_reason = static_cast<EndReason>(IndexOf(kEndReasonNames, rows.Text(row, 7)));
    }
    trial.base_step = rows.OptionalInt64(row, 8);
    trial.last_step = rows.Int64(row, 9);
    trial.crashes = rows.Int32(row, 10);
    trial.grant_time = absl::FromUnixMicros(rows.OptionalInt64(row, 11).value_or(0));
    trial.slot_class = rows.Int32(row, 12);
  }
  return trials;
}

absl::Status CopyChunks(PgConnection& connection, absl::Span<const AttemptEvents> batch,
                        const std::vector<TrialMove>& moves) {
  const auto has_points = [&](const TrialMove& move) { return move.first_new < batch[move.event].steps.size(); };
  if (std::none_of(moves.begin(), moves.end(), has_points)) {
    return absl::OkStatus();
  }
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, kCopyChunks));
  std::vector<double> cut;
  for (const TrialMove& move : moves) {
    const AttemptEvents& events = batch[move.event];
    const absl::Span<const int64_t> steps = events.steps;
    const absl::Span<const double> values = events.values;
    const size_t metrics = steps.empty() ? 0 : values.size() / steps.size();
    for (size_t first = move.first_new; first < steps.size();) {
      const size_t count = std::min(PointsPerChunk(metrics), steps.size() - first);
      copy.Row(8);
      copy.Int64(events.trial);
      copy.Int64(events.attempt);
      copy.Int64(steps[first]);
      copy.Int64(steps[first + count - 1]);
      copy.Double(events.train_seconds);
      copy.Double(events.eval_seconds);
      copy.Int64s(steps.subspan(first, count));
      if (count == steps.size()) {
        copy.Doubles(values);
      } else {
        cut.clear();
        for (size_t metric = 0; metric < metrics; ++metric) {
          const auto of_metric = values.subspan(metric * steps.size() + first, count);
          cut.insert(cut.end(), of_metric.begin(), of_metric.end());
        }
        copy.Doubles(cut);
      }
      first += count;
    }
  }
  return copy.Finish();
}

absl::Status MoveTrials(PgConnection& connection, absl::Span<const AttemptEvents> batch,
                        const std::vector<TrialMove>& moves) {
  std::vector<int64_t> ids, attempts, old_bases, old_lasts, bases, lasts, end_steps;
  std::vector<std::string> states, reasons, errors;
  std::vector<double> train_seconds, eval_seconds;
  std::vector<int32_t> crashes;
  for (const TrialMove& move : moves) {
    const AttemptEvents& events = batch[move.event];
    ids.push_back(move.before.trial);
    attempts.push_back(move.before.attempt);
    old_bases.push_back(move.before.base_step.value_or(-2));
    old_lasts.push_back(move.before.last_step);
    states.push_back(Text(Name(move.state)));
    bases.push_back(move.state == TrialState::kQueued ? -2 : move.base_step.value_or(-2));
    lasts.push_back(move.last_step);
    end_steps.push_back(move.end_step.value_or(-1));
    reasons.push_back(move.end_reason.has_value() ? Text(Name(*move.end_reason)) : "");
    train_seconds.push_back(move.first_new < events.steps.size() ? events.train_seconds : -1);
    eval_seconds.push_back(events.eval_seconds);
    crashes.push_back(move.crashes);
    errors.push_back(move.error);
  }
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult moved, connection.Execute(kMoveTrials, PgParams()
                                                                                       .Int64s(ids)
                                                                                       .Int64s(attempts)
                                                                                       .Int64s(old_bases)
                                                                                       .Int64s(old_lasts)
                                                                                       .Texts(states)
                                                                                       .Int64s(bases)
                                                                                       .Int64s(lasts)
                                                                                       .Int64s(end_steps)
                                                                                       .Texts(reasons)
                                                                                       .Doubles(train_seconds)
                                                                                       .Doubles(eval_seconds)
                                                                                       .Int32s(crashes)
                                                                                       .Texts(errors)));
  if (moved.affected() != static_cast<int64_t>(moves.size())) {
    return absl::AbortedError("some of the trials were moved by another transaction");
  }
  return absl::OkStatus();
}

absl::Status EndAttempts(PgConnection& connection, absl::Span<const AttemptEvents> batch,
                         const std::vector<TrialMove>& moves) {
  std::vector<int64_t> requeued, strands, avoid;
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, kCopyAttempts));
  for (const TrialMove& move : moves) {
    if (!move.ends_attempt()) {
      continue;
    }
    copy.Row(10);
    copy.Int64(move.before.trial);
    copy.Int64(move.before.attempt);
    copy.Int64(move.before.session);
    if (move.before.slot_class >= 0) {
      copy.Int32(move.before.slot_class);
    } else {
      copy.Null();
    }
    if (move.base_step.has_value()) {
      copy.Int64(*move.base_step);
    } else {
      copy.Null();
    }
    copy.Int64(move.base_step.has_value() ? move.last_step : -1);
    copy.Time(move.before.grant_time);
    copy.Text(move.outcome);
    if (move.error.empty()) {
      copy.Null();
    } else {
      copy.Text(move.error);
    }
    const std::string& log = batch[move.event].ending->log_tail;
    if (log.empty()) {
      copy.Null();
    } else {
      copy.Bytes(std::string_view(log).substr(log.size() - std::min(log.size(), kMostLog)));
    }
    if (move.state == TrialState::kQueued) {
      requeued.push_back(move.before.trial);
      strands.push_back(move.before.strand);
      avoid.push_back(move.avoid ? move.before.session : 0);
    }
  }
  STEPCURVE_RETURN_IF_ERROR(copy.Finish());
  if (requeued.empty()) {
    return absl::OkStatus();
  }
  return connection.Execute(kRequeue, PgParams().Int64s(requeued).Int64s(strands).Int64s(avoid)).status();
}

absl::Status CopyRecords(PgConnection& connection, const std::vector<TrialMove>& moves,
                         const std::vector<RecordArrays>& records) {
  if (records.empty()) {
    return absl::OkStatus();
  }
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, kCopyRecords));
  auto record = records.begin();
  for (const TrialMove& move : moves) {
    if (!move.ends_trial()) {
      continue;
    }
    copy.Row(6);
    copy.Int64(move.before.trial);
    copy.Int64(move.before.study);
    copy.Int64(move.before.number);
    copy.Int32s(record->offsets);
    copy.Int64s(record->steps);
    copy.Doubles(record->values);
    ++record;
  }
  return copy.Finish();
}

}  // namespace stepcurve
