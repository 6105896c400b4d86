// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

struct AttemptKey {
  int64_t trial = 0;
  int64_t attempt = 0;
  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

// What one message may still take.
struct MessageRoom {
  size_t bytes = 0;
  size_t points_per_report = 0;
};

// Events of one attempt on their way to the server: Start, points, End. An event leaves for good only when the server
// says that it is durable; until then Resend() makes it due again. Not thread-safe, no I/O.
class AttemptLog final {
 public:
  // `metrics`: values per point.
  AttemptLog(AttemptKey key, size_t metrics) : key_(key), metrics_(metrics) {}

  void AddStart();
  // Whether `step` is above all before it, and there are as many values as metrics.
  bool Takes(int64_t step, const std::vector<double>& values) const {
    return step > last_step_ && values.size() == metrics_;
  }
  // Requires Takes().
  void AddPoint(int64_t step, const std::vector<double>& values, double train_seconds, double eval_seconds);
  // Last event; fills in the attempt and the last step.
  void AddEnd(v1::End end);

  // Moves what is due into `message`, as far as there is room, and takes that from `room`. Events keep their order, and
  // the End goes out only after every point.
  void Send(MessageRoom& room, v1::WorkerMessage& message);

  // Everything up to `step` is durable.
  void Persisted(int64_t step);
  // Everything that is not known to be durable is due again.
  void Resend();

  bool due() const { return start_due_ || due_points() > 0 || (end_.has_value() && !end_sent_); }
  size_t due_points() const { return steps_.size() - sent_; }
  // Points held in memory.
  size_t points() const { return steps_.size() - kept_; }
  // What a point takes in memory, about.
  size_t point_bytes() const { return sizeof(int64_t) + (metrics_ + 2) * sizeof(double); }
  bool ended() const { return end_.has_value(); }
  bool end_sent() const { return end_sent_; }
  // Step of the newest point; -1 none yet.
  int64_t last_step() const { return last_step_; }

  v1::Held Held() const;

 private:
  v1::Report TakeReport(size_t points);
  void DropOldStorage();

  AttemptKey key_;
  size_t metrics_;
  bool started_ = false;
  bool start_due_ = false;
  // Points [kept_, size) are not known to be durable, [sent_, size) are due.
  size_t kept_ = 0;
  size_t sent_ = 0;
  std::vector<int64_t> steps_;
  std::vector<double> values_;  // Point by point.
  std::vector<double> train_seconds_;
  std::vector<double> eval_seconds_;
  int64_t last_step_ = -1;
  std::optional<v1::End> end_;
  bool end_sent_ = false;
};

}  // namespace stepcurve
