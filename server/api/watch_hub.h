// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/server_callback.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/support/clock.h"
#include "server/api/progress.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

class Watcher;

// Serves all WatchSweep streams of a server: one thread reads each watched sweep at most once an interval, however many
// watch it, and hands the snapshot to those that watch. While the database is away, watchers get the last snapshot as
// keep-alive. Thread-safe.
class WatchHub final {
 public:
  struct Options {
    SweepStore* sweeps = nullptr;      // Not owned; outlives the hub.
    SessionStore* sessions = nullptr;  // Not owned; outlives the hub.
    const Clock* clock = nullptr;      // Not owned; outlives the hub.
    absl::Duration interval = absl::Milliseconds(500);
    absl::Duration keep_alive = absl::Seconds(10);
  };
  explicit WatchHub(const Options& options);
  ~WatchHub();  // Once no stream is left: after the gRPC server is shut down.

  grpc::ServerWriteReactor<v1::WatchSweepResponse>* Watch(const v1::WatchSweepRequest& request);

 private:
  // Watchers of one sweep. The hub's thread alone touches it.
  struct Room {
    struct Seat {
      std::shared_ptr<Watcher> watcher;
      bool fresh = true;  // Has been sent nothing.
    };
    std::vector<Seat> seats;
    std::shared_ptr<const v1::WatchSweepResponse> last;
    std::string content;  // Of the last snapshot, without time and rates.
    absl::Time read_time = absl::InfinitePast();
    absl::Time send_time = absl::InfinitePast();
    bool unread = false;  // The last attempt to read it failed.
    EndingRate rate;
  };

  void Run();
  void Admit(std::vector<std::shared_ptr<Watcher>> newcomers);
  void Serve(int64_t sweep, Room& room, absl::Time now);

  const Options options_;
  // The thread's.
  std::map<int64_t, Room> rooms_;
  // The database did not answer in this round: asking again for each sweep would hold the keep-alives up.
  absl::Status away_;

  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::shared_ptr<Watcher>> newcomers_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace stepcurve
