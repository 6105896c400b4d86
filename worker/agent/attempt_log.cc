// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/attempt_log.h"

#include <algorithm>
#include <utility>

namespace stepcurve {
namespace {

// Upper bounds of what the parts of a message take: a report's fixed fields, a step delta, a start.
constexpr size_t kReportBytes = 64;
constexpr size_t kDeltaBytes = 10;
constexpr size_t kStartBytes = 40;
constexpr size_t kCompactFrom = 4096;

}  // namespace

void AttemptLog::AddStart() {
  started_ = true;
  start_due_ = true;
}

void AttemptLog::AddPoint(int64_t step, const std::vector<double>& values, double train_seconds, double eval_seconds) {
  steps_.push_back(step);
  values_.insert(values_.end(), values.begin(), values.end());
  train_seconds_.push_back(train_seconds);
  eval_seconds_.push_back(eval_seconds);
  last_step_ = step;
}

void AttemptLog::AddEnd(v1::End end) {
  end.set_trial(key_.trial);
  end.set_attempt(key_.attempt);
  end.set_last_step(last_step_);
  end_ = std::move(end);
}

void AttemptLog::Send(MessageRoom& room, v1::WorkerMessage& message) {
  if (start_due_) {
    if (room.bytes < kStartBytes) return;
    room.bytes -= kStartBytes;
    v1::Start& start = *message.add_starts();
    start.set_trial(key_.trial);
    start.set_attempt(key_.attempt);
    start.set_base_step(-1);
    start_due_ = false;
  }
  const size_t point_bytes = metrics_ * sizeof(double) + kDeltaBytes;
  while (due_points() > 0) {
    if (room.bytes < kReportBytes + point_bytes) return;
    const size_t fit = (room.bytes - kReportBytes) / point_bytes;
    const size_t points = std::min({due_points(), fit, room.points_per_report});
    room.bytes -= kReportBytes + points * point_bytes;
    *message.add_reports() = TakeReport(points);
  }
  if (end_.has_value() && !end_sent_) {
    const size_t bytes = end_->ByteSizeLong() + kStartBytes;
    if (room.bytes < bytes) return;
    room.bytes -= bytes;
    *message.add_ends() = *end_;
    end_sent_ = true;
  }
}

v1::Report AttemptLog::TakeReport(size_t points) {
  v1::Report report;
  report.set_trial(key_.trial);
  report.set_attempt(key_.attempt);
  report.set_first_step(steps_[sent_]);
  report.mutable_step_deltas()->Reserve(static_cast<int>(points - 1));
  for (size_t i = sent_ + 1; i < sent_ + points; ++i) {
    report.add_step_deltas(steps_[i] - steps_[i - 1]);
  }
  report.mutable_values()->Reserve(static_cast<int>(points * metrics_));
  for (size_t metric = 0; metric < metrics_; ++metric) {
    for (size_t i = sent_; i < sent_ + points; ++i) {
      report.add_values(values_[i * metrics_ + metric]);
    }
  }
  sent_ += points;
  report.set_train_seconds(train_seconds_[sent_ - 1]);
  report.set_eval_seconds(eval_seconds_[sent_ - 1]);
  return report;
}

void AttemptLog::Persisted(int64_t step) {
  const auto durable = std::upper_bound(steps_.begin() + static_cast<std::ptrdiff_t>(kept_), steps_.end(), step);
  kept_ = static_cast<size_t>(durable - steps_.begin());
  sent_ = std::max(sent_, kept_);
  if (kept_ >= kCompactFrom && kept_ * 2 >= steps_.size()) DropOldStorage();
}

void AttemptLog::DropOldStorage() {
  const auto kept = static_cast<std::ptrdiff_t>(kept_);
  steps_.erase(steps_.begin(), steps_.begin() + kept);
  values_.erase(values_.begin(), values_.begin() + kept * static_cast<std::ptrdiff_t>(metrics_));
  train_seconds_.erase(train_seconds_.begin(), train_seconds_.begin() + kept);
  eval_seconds_.erase(eval_seconds_.begin(), eval_seconds_.begin() + kept);
  sent_ -= kept_;
  kept_ = 0;
}

void AttemptLog::Resend() {
  start_due_ = started_;
  sent_ = kept_;
  end_sent_ = false;
}

v1::Held AttemptLog::Held() const {
  v1::Held held;
  held.set_trial(key_.trial);
  held.set_attempt(key_.attempt);
  held.set_first_spooled_step(points() > 0 ? steps_[kept_] : -1);
  held.set_end_spooled(end_.has_value());
  return held;
}

}  // namespace stepcurve
