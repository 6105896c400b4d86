// SPDX-License-Identifier: Apache-2.0
#include "client/commands/follow.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands/goal_argument.h"
#include "client/render/figures.h"
#include "client/render/sweep_view.h"
#include "client/render/watch_view.h"

namespace stepcurve {
namespace {

// A sweep of very many workloads is watched by its counts: each curve is a call of its own.
constexpr size_t kMostCurves = 6;

bool Over(const v1::Sweep& sweep) { return sweep.state() == v1::DONE || sweep.state() == v1::SWEEP_CANCELLED; }

// Prints snapshots, as often as the environment says.
class Display {
 public:
  Display(Session& session, const FollowOptions& options) : session_(session), options_(options) {}

  void Show(const v1::Progress& progress) {
    if (options_.terminal) {
      AskForCurves(progress);
      Redraw(progress);
      return;
    }
    const absl::Time now = session_.Now();
    if (!Over(progress.sweep()) && now - last_line_ < session_.environment().line_interval) return;
    last_line_ = now;
    if (options_.format == Format::kTable) {
      *options_.out << WatchLine(progress) << std::endl;
    } else {
      if (!rows_.has_value()) rows_.emplace(options_.format, SweepColumns(), options_.out);
      rows_->Print({SweepRow(progress.sweep(), now)});
    }
  }

  // What is said on the terminal from elsewhere goes below the screen.
  void Detach() { lines_drawn_ = 0; }

 private:
  void AskForCurves(const v1::Progress& progress) {
    const absl::Time now = session_.Now();
    if (progress.sweep().goals().empty()) return;
    if (!Over(progress.sweep()) && now - last_curves_ < session_.environment().curve_interval) return;
    last_curves_ = now;
    const absl::StatusOr<v1::Goal> goal = GoalArgument(progress.sweep().goals(0));
    if (!goal.ok()) return;
    std::vector<v1::Curve> curves;
    std::set<std::string> asked;
    for (const v1::Study& study : progress.studies()) {
      if (asked.size() == kMostCurves || !asked.insert(study.workload().address()).second) continue;
      v1::GetCurveRequest request;
      request.set_workload(study.workload().address());
      request.add_sweeps(progress.sweep().name());
      *request.add_goals() = *goal;
      absl::StatusOr<v1::GetCurveResponse> response =
          session_.Call(&v1::CurveService::StubInterface::GetCurve, request, absl::Seconds(5));
      // The screen lives without; the next round may have it.
      if (!response.ok()) return;
      curves.insert(curves.end(), response->curves().begin(), response->curves().end());
    }
    curves_ = std::move(curves);
  }

  void Redraw(const v1::Progress& progress) {
    const Environment& environment = session_.environment();
    std::string text;
    // Up to the first line of the screen, and clear from there.
    if (lines_drawn_ > 0) text = absl::StrCat("\x1b[", lines_drawn_, "A\r\x1b[J");
    const std::vector<std::string> lines = WatchScreen(progress, curves_, environment.columns, environment.rows);
    for (const std::string& line : lines) {
      const bool waiting = absl::StartsWith(line, "waiting:");
      const bool failed = absl::StartsWith(line, "complete") && progress.sweep().counts().failed() > 0;
      const bool coloured = environment.colour && (waiting || failed);
      absl::StrAppend(&text, coloured ? (failed ? "\x1b[31m" : "\x1b[33m") : "", line, coloured ? "\x1b[0m" : "", "\n");
    }
    lines_drawn_ = static_cast<int>(lines.size());
    *options_.out << text << std::flush;
  }

  Session& session_;
  const FollowOptions& options_;
  std::vector<v1::Curve> curves_;
  absl::Time last_line_ = absl::InfinitePast();
  absl::Time last_curves_ = absl::InfinitePast();
  int lines_drawn_ = 0;
  std::optional<RowPrinter> rows_;
};

}  // namespace

absl::StatusOr<ExitStatus> Follow(Session& session, const FollowOptions& options) {
  Display display(session, options);
  const Environment& environment = session.environment();
  std::optional<v1::Progress> last;
  absl::Time last_heard = session.Now();
  absl::Duration backoff = environment.first_backoff;
  while (true) {
    grpc::ClientContext context;
    v1::WatchSweepRequest request;
    request.set_sweep(options.sweep);
    const auto stream = session.sweeps().WatchSweep(&context, request);
    v1::WatchSweepResponse response;
    while (stream->Read(&response)) {
      last_heard = session.Now();
      backoff = environment.first_backoff;
      last = std::move(*response.mutable_progress());
      display.Show(*last);
    }
    const grpc::Status ended = stream->Finish();
    if (last.has_value() && Over(last->sweep())) {
      const bool good = last->sweep().state() == v1::DONE && last->sweep().counts().failed() == 0;
      return good ? ExitStatus::kDone : ExitStatus::kFailed;
    }
    // A server that shuts down may end the stream in good order.
    const absl::Status status = ended.ok() ? absl::UnavailableError("the server ended the stream before the sweep")
                                           : FromGrpc(ended, session.server());
    if (ExitStatusOf(status) != ExitStatus::kTryAgain || !last.has_value()) return status;
    if (session.Now() - last_heard > environment.patience) return status;
    if (backoff == environment.first_backoff) {
      session.err() << "lost the server (" << status.message() << "); dialling again\n";
      display.Detach();
    }
    absl::SleepFor(backoff);
    backoff = std::min(2 * backoff, environment.max_backoff);
  }
}

}  // namespace stepcurve
