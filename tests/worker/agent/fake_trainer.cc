// SPDX-License-Identifier: Apache-2.0
//
// A trainer that speaks the daemon's frames and does what the model's name says: "finish" reports steps 0 to the
// budget, "crash" reports one step and dies, "crash_at_once" dies before its first, "hang" says nothing, "wait" goes on
// until it is told to stop. With --broken it dies before it is ready.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "worker/run/frames.h"

namespace stepcurve {
namespace {

constexpr int kDaemon = 3;

void Send(const Frame& frame) { WriteFrame(kDaemon, frame).IgnoreError(); }

void Measure(int32_t slot, const TrialRun& run, int64_t step) {
  Send(MeasuredFrame{slot, step, std::vector<double>(run.metrics.size(), 1.0 / (1.0 + static_cast<double>(step))),
                     static_cast<double>(step), 0});
}

void Start(int32_t slot, const TrialRun& run) {
  const std::string& model = run.workload.model;
  if (model == "crash_at_once") std::raise(SIGKILL);
  if (model == "hang") return;
  Measure(slot, run, 0);
  if (model == "crash") std::raise(SIGKILL);
  if (model != "finish") return;
  for (int64_t step = 1; step <= run.budget_steps; ++step) {
    Measure(slot, run, step);
  }
  Send(EndedFrame{slot, {.last_step = run.budget_steps}});
}

int Serve() {
  ReadyFrame ready;
  ready.datasets = {{"fake", 100, 10, 10, "f00d"}};
  ready.models = {"finish", "crash"};
  ready.optimizers = {"sgd"};
  ready.device = "cpu";
  ready.description = "a fake";
  ready.versions = "torch 1.13.1, OpenBLAS 0.3.21";
  Send(ready);
  while (true) {
    const absl::StatusOr<Frame> frame = ReadFrame(kDaemon);
    if (!frame.ok()) return 0;
    if (const auto* run = std::get_if<RunFrame>(&*frame)) {
      Start(run->slot, run->run);
    } else if (const auto* stop = std::get_if<StopFrame>(&*frame)) {
      Send(EndedFrame{stop->slot, {.kind = RunEnd::Kind::kStopped, .last_step = 0}});
    }
  }
}

}  // namespace
}  // namespace stepcurve

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--broken") == 0) return 1;
  }
  return stepcurve::Serve();
}
