// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/demand.h"

#include <algorithm>

namespace stepcurve {
namespace {

// A server looks for work every 250 ms, and an answer takes a flush and a round trip.
constexpr absl::Duration kLookAhead = absl::Seconds(1);
constexpr int64_t kMostAhead = 1024;
constexpr double kWeight = 0.2;

}  // namespace

void Demand::Restart() {
  assigned_total_ = 0;
  wanted_total_ = 0;
}

void Demand::Ran(absl::Duration duration) {
  typical_ = typical_.has_value() ? *typical_ + kWeight * (duration - *typical_) : duration;
}

int64_t Demand::Ahead(absl::Duration longest) const {
  if (!typical_.has_value()) return 0;
  const absl::Duration duration = std::max({*typical_, longest, absl::Microseconds(1)});
  const double ahead = static_cast<double>(slots_) * absl::FDivDuration(kLookAhead, duration);
  return std::min(kMostAhead, static_cast<int64_t>(ahead));
}

int64_t Demand::WantedTotal(int64_t held, absl::Duration longest) {
  wanted_total_ = std::max(wanted_total_, assigned_total_ + slots_ + Ahead(longest) - held);
  return wanted_total_;
}

}  // namespace stepcurve
