// SPDX-License-Identifier: Apache-2.0
#include "client/session.h"

namespace stepcurve {

const std::shared_ptr<grpc::Channel>& Session::channel() {
  if (channel_ == nullptr) channel_ = Dial({.server = options_.server});
  return channel_;
}

v1::SweepService::StubInterface& Session::sweeps() {
  if (sweeps_ == nullptr) sweeps_ = v1::SweepService::NewStub(channel());
  return *sweeps_;
}

v1::CurveService::StubInterface& Session::curves() {
  if (curves_ == nullptr) curves_ = v1::CurveService::NewStub(channel());
  return *curves_;
}

}  // namespace stepcurve
