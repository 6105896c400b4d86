// SPDX-License-Identifier: Apache-2.0
//
// What stepcurve-worker and the stepcurve-trainer it starts say to each other over a socket pair (file descriptor 3 of
// the trainer). Fixed binary frames: a 4-byte length of what follows, a 1-byte type, then the fields in order; integers
// little-endian, doubles as their 8 bytes, strings and lists with a 4-byte count in front. Both ends are of one build,
// so there is no version.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "worker/run/trial_run.h"

namespace stepcurve {

// Daemon to trainer.
struct RunFrame {
  int32_t slot = 0;  // Free; 0 to slots - 1.
  TrialRun run;
};
struct StopFrame {
  int32_t slot = 0;
};

// Trainer to daemon. Ready comes first, once the data has been found and the device tried.
struct ReadyFrame {
  struct Dataset {
    std::string name;
    int64_t train_examples = 0;
    int64_t val_examples = 0;
    int64_t test_examples = 0;
    std::string fingerprint;
  };
  std::vector<Dataset> datasets;
  std::vector<std::string> models;  // Families.
  std::vector<std::string> optimizers;
  std::string device;  // cpu, cuda
  int64_t memory_bytes = 0;
  std::string description;            // Of the device, for people.
  std::string versions;               // "torch 1.13.1, openblas ..."
  std::vector<std::string> warnings;  // For the daemon's log: slow BLAS, a data folder that is not usable.
};
struct MeasuredFrame {
  int32_t slot = 0;
  int64_t step = 0;
  std::vector<double> values;
  double train_seconds = 0;
  double eval_seconds = 0;
};
struct ProgressFrame {
  int32_t slot = 0;
  int64_t step = 0;
};
struct EndedFrame {
  int32_t slot = 0;
  RunEnd end;
};

using Frame = std::variant<RunFrame, StopFrame, ReadyFrame, MeasuredFrame, ProgressFrame, EndedFrame>;

// The frame with its length in front.
std::string Encode(const Frame& frame);

// The frame in `body`, which is what follows the length. DATA_LOSS when it is no frame.
absl::StatusOr<Frame> Decode(absl::string_view body);

// Blocking I/O on a stream socket. Write is atomic with respect to other writers only if the caller serialises them.
// Read: OUT_OF_RANGE at the orderly end of the stream, UNAVAILABLE when the other side died, DATA_LOSS for a frame
// above 64 MiB.
absl::Status WriteFrame(int fd, const Frame& frame);
absl::StatusOr<Frame> ReadFrame(int fd);

}  // namespace stepcurve
