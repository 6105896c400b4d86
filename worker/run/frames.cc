// SPDX-License-Identifier: Apache-2.0
#include "worker/run/frames.h"

#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stepcurve {
namespace {

template <typename U, typename T>
concept Is = std::same_as<std::remove_const_t<U>, T>;

// Encoder and Decoder take the same fields through the same operator(), so that one list of fields below serves both.
class Encoder final {
 public:
  static constexpr bool kDecodes = false;

  template <std::integral T>
  void operator()(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i)));
    }
  }
  void operator()(bool value) { bytes_.push_back(value ? 1 : 0); }
  void operator()(double value) { (*this)(std::bit_cast<uint64_t>(value)); }
  void operator()(const std::string& text) {
    (*this)(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    (*this)(static_cast<uint32_t>(list.size()));
    for (const T& item : list) {
      Each(item);
    }
  }

  std::string Take() { return std::move(bytes_); }

 private:
  template <typename T>
  void Each(const T& item);

  std::string bytes_;
};

// Past the first violation every read leaves its target alone; ok() says so at the end.
class Decoder final {
 public:
  static constexpr bool kDecodes = true;

  explicit Decoder(absl::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return bytes_.empty(); }
  void Fail() { ok_ = false; }

  template <std::integral T>
  void operator()(T& value) {
    if (!Has(sizeof(T))) return;
    std::make_unsigned_t<T> bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      bits |= static_cast<std::make_unsigned_t<T>>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    }
    value = static_cast<T>(bits);
    bytes_.remove_prefix(sizeof(T));
  }
  void operator()(bool& value) {
    uint8_t byte = 0;
    (*this)(byte);
    if (byte > 1) Fail();
    value = byte == 1;
  }
  void operator()(double& value) {
    uint64_t bits = 0;
    (*this)(bits);
    value = std::bit_cast<double>(bits);
  }
  void operator()(std::string& text) {
    uint32_t size = 0;
    (*this)(size);
    if (!Has(size)) return;
    text.assign(bytes_.data(), size);
    bytes_.remove_prefix(size);
  }
  // Grows item by item, so that a false count costs no more memory than the frame has bytes for.
  template <typename T>
  void operator()(std::vector<T>& list) {
    uint32_t size = 0;
    (*this)(size);
    list.clear();
    for (uint32_t i = 0; i < size && Has(1); ++i) {
      Each(list.emplace_back());
    }
  }

 private:
  bool Has(size_t size) {
    if (bytes_.size() < size) Fail();
    return ok_;
  }
  template <typename T>
  void Each(T& item);

  absl::string_view bytes_;
  bool ok_ = true;
};

// An enum as one byte, checked against its last value.
template <typename Io, typename E>
void Enum(Io& io, E& value, std::remove_const_t<E> last) {
  uint8_t byte = static_cast<uint8_t>(value);
  io(byte);
  if constexpr (Io::kDecodes) {
    if (byte > static_cast<uint8_t>(last)) {
      io.Fail();
    } else {
      value = static_cast<E>(byte);
    }
  }
}

template <typename Io>
void Fields(Io& io, Is<Option::Value> auto& value) {
  uint8_t index = static_cast<uint8_t>(value.index());
  io(index);
  if constexpr (Io::kDecodes) {
    switch (index) {
      case 0:
        value.template emplace<bool>();
        break;
      case 1:
        value.template emplace<int64_t>();
        break;
      case 2:
        value.template emplace<double>();
        break;
      case 3:
        value.template emplace<std::string>();
        break;
      default:
        io.Fail();
    }
  }
  std::visit([&io](auto& held) { io(held); }, value);
}

template <typename Io>
void Fields(Io& io, Is<Option> auto& option) {
  io(option.name);
  Fields(io, option.value);
}

template <typename Io>
void Fields(Io& io, Is<Workload> auto& workload) {
  io(workload.dataset);
  io(workload.data);
  io(workload.model);
  io(workload.options);
  io(workload.optimizer);
  io(workload.variant);
}

template <typename Io>
void Fields(Io& io, Is<EvaluationGrid> auto& grid) {
  Enum(io, grid.kind, EvaluationGrid::Kind::kAt);
  io(grid.ratio_millionths);
  io(grid.first);
  io(grid.every);
  io(grid.at);
}

template <typename Io>
void Fields(Io& io, Is<Goal> auto& goal) {
  io(goal.metric);
  Enum(io, goal.comparison, Goal::Comparison::kGreaterOrEqual);
  io(goal.threshold);
}

template <typename Io>
void Fields(Io& io, Is<Metaparameter> auto& parameter) {
  io(parameter.name);
  io(parameter.value);
}

template <typename Io>
void Fields(Io& io, Is<std::pair<std::string, int64_t>> auto& pair) {
  io(pair.first);
  io(pair.second);
}

template <typename Io>
void Fields(Io& io, Is<TrialRun> auto& run) {
  io(run.trial);
  io(run.attempt);
  Fields(io, run.workload);
  io(run.batch_size);
  io(run.budget_steps);
  Fields(io, run.grid);
  io(run.metrics);
  io(run.parameters);
  io(run.schedule);
  io(run.precision);
  io(run.split_intervals);
  io(run.train_examples);
  io(run.goals);
  io(run.training_seed);
}

template <typename Io>
void Fields(Io& io, Is<RunEnd> auto& end) {
  Enum(io, end.kind, RunEnd::Kind::kWorkerError);
  io(end.last_step);
  io(end.step);
  io(end.before_first_step);
  io(end.message);
}

template <typename Io>
void Fields(Io& io, Is<ReadyFrame::Dataset> auto& dataset) {
  io(dataset.name);
  io(dataset.train_examples);
  io(dataset.val_examples);
  io(dataset.test_examples);
  io(dataset.fingerprint);
}

template <typename Io>
void Fields(Io& io, Is<RunFrame> auto& frame) {
  io(frame.slot);
  Fields(io, frame.run);
}

template <typename Io>
void Fields(Io& io, Is<StopFrame> auto& frame) {
  io(frame.slot);
}

template <typename Io>
void Fields(Io& io, Is<ReadyFrame> auto& frame) {
  io(frame.datasets);
  io(frame.models);
  io(frame.optimizers);
  io(frame.device);
  io(frame.memory_bytes);
  io(frame.description);
  io(frame.versions);
  io(frame.warnings);
}

template <typename Io>
void Fields(Io& io, Is<MeasuredFrame> auto& frame) {
  io(frame.slot);
  io(frame.step);
  io(frame.values);
  io(frame.train_seconds);
  io(frame.eval_seconds);
}

template <typename Io>
void Fields(Io& io, Is<ProgressFrame> auto& frame) {
  io(frame.slot);
  io(frame.step);
}

template <typename Io>
void Fields(Io& io, Is<EndedFrame> auto& frame) {
  io(frame.slot);
  Fields(io, frame.end);
}

// Items of a list: plain values or structs.
template <typename T>
constexpr bool kPlain = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;

template <typename T>
void Encoder::Each(const T& item) {
  if constexpr (kPlain<T>) {
    (*this)(item);
  } else {
    Fields(*this, item);
  }
}

template <typename T>
void Decoder::Each(T& item) {
  if constexpr (kPlain<T>) {
    (*this)(item);
  } else {
    Fields(*this, item);
  }
}

// Sets `frame` to an empty alternative `type`; false when there is none.
template <size_t i = 0>
bool SetType(size_t type, Frame& frame) {
  if constexpr (i < std::variant_size_v<Frame>) {
    if (type == i) {
      frame.emplace<i>();
      return true;
    }
    return SetType<i + 1>(type, frame);
  }
  return false;
}

}  // namespace

std::string Encode(const Frame& frame) {
  Encoder body;
  body(static_cast<uint8_t>(frame.index()));
  std::visit([&body](const auto& alternative) { Fields(body, alternative); }, frame);
  const std::string bytes = body.Take();
  Encoder length;
  length(static_cast<uint32_t>(bytes.size()));
  return length.Take() + bytes;
}

absl::StatusOr<Frame> Decode(absl::string_view body) {
  Decoder decoder(body);
  uint8_t type = 0;
  decoder(type);
  Frame frame;
  if (!decoder.ok() || !SetType(type, frame)) {
    return absl::DataLossError(absl::StrCat("frame of ", body.size(), " bytes has unknown type ", type));
  }
  std::visit([&decoder](auto& alternative) { Fields(decoder, alternative); }, frame);
  if (!decoder.ok() || !decoder.AtEnd()) {
    return absl::DataLossError(absl::StrCat("frame of type ", type, " and ", body.size(), " bytes does not parse"));
  }
  return frame;
}

}  // namespace stepcurve
