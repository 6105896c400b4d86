// SPDX-License-Identifier: Apache-2.0
#include "server/store/hand_out_order.h"

#include <algorithm>
#include <utility>

namespace stepcurve {
namespace {

constexpr int64_t kPointsAtOnce = 64;

// The trials of one strand, made in pieces.
class StrandTrials final {
 public:
  explicit StrandTrials(const PlannedStrand& strand)
      : strand_(&strand), sampler_(MakeSampler(*strand.definition, strand.split_value)) {}

  const PlannedStrand& strand() const { return *strand_; }

  // Null at the end.
  const NewTrial* Next() {
    if (next_ == piece_.size()) {
      const int64_t repeats = strand_->definition->repeats;
      const int64_t count = std::min(kPointsAtOnce * repeats, strand_->initial - made_);
      if (count <= 0) {
        return nullptr;
      }
      piece_ = NewTrials(*strand_->definition, sampler_, made_, count, strand_->first_number + made_ / repeats);
      made_ += count;
      next_ = 0;
    }
    return &piece_[next_++];
  }

 private:
  const PlannedStrand* strand_;
  Sampler sampler_;
  std::vector<NewTrial> piece_;
  size_t next_ = 0;
  int64_t made_ = 0;
};

}  // namespace

void ForEachInHandOutOrder(const std::vector<PlannedStrand>& strands,
                           absl::FunctionRef<void(const PlannedStrand&, const NewTrial&)> insert) {
  std::vector<StrandTrials> open;
  open.reserve(strands.size());
  for (const PlannedStrand& strand : strands) {
    open.emplace_back(strand);
  }
  while (!open.empty()) {
    // Each has its turn; those that have no more leave.
    std::erase_if(open, [&](StrandTrials& trials) {
      const NewTrial* trial = trials.Next();
      if (trial != nullptr) {
        insert(trials.strand(), *trial);
      }
      return trial == nullptr;
    });
  }
}

}  // namespace stepcurve
