// SPDX-License-Identifier: Apache-2.0
#include "client/render/watch_view.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/render/figures.h"

namespace stepcurve {
namespace {

constexpr int kBarWidth = 21;

int Percent(int64_t done, int64_t total) { return total == 0 ? 0 : static_cast<int>(100 * done / total); }

std::string Bar(int64_t done, int64_t total) {
  const int filled = total == 0 ? 0 : static_cast<int>(kBarWidth * done / total);
  return absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '-'), "]");
}

// "3.1 trials/s   about 2 min left", as far as that is known.
std::string PaceText(const v1::Progress& progress, absl::string_view gap) {
  std::vector<std::string> parts;
  if (progress.trials_per_second() >= 0.1) {
    parts.push_back(absl::StrFormat("%.1f trials/s", progress.trials_per_second()));
  } else if (progress.trials_per_second() > 0) {
    parts.push_back(absl::StrFormat("%.1f trials/min", 60 * progress.trials_per_second()));
  }
  if (progress.sweep().state() == v1::ACTIVE && progress.seconds_left() > 0) {
    parts.push_back(absl::StrCat("about ", Span(absl::Seconds(progress.seconds_left())), " left"));
  }
  if (progress.sweep().state() != v1::ACTIVE) parts.push_back(NameOf(progress.sweep().state()));
  return absl::StrJoin(parts, gap);
}

std::string CountsText(const v1::StateCounts& counts, absl::string_view gap) {
  std::vector<std::string> parts = {
      absl::StrCat("complete ", counts.complete()),   absl::StrCat("stopped ", counts.stopped()),
      absl::StrCat("diverged ", counts.infeasible()), absl::StrCat("running ", counts.running()),
      absl::StrCat("queued ", counts.queued()),       absl::StrCat("failed ", counts.failed())};
  if (counts.cancelled() > 0) parts.push_back(absl::StrCat("cancelled ", counts.cancelled()));
  return absl::StrJoin(parts, gap);
}

// "waiting: no worker is connected (9 studies)", a line for every reason. That slots are busy is as it should be.
std::vector<std::string> WaitingLines(const v1::Progress& progress) {
  std::map<std::string, int> studies;
  for (const v1::Study& study : progress.studies()) {
    if (study.waiting_for() != v1::SLOTS && !WaitingText(study).empty()) ++studies[WaitingText(study)];
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : studies) {
    lines.push_back(absl::StrFormat("waiting: %s (%d %s)", reason, count, count == 1 ? "study" : "studies"));
  }
  return lines;
}

// Batch sizes over steps, in as many pairs of lines as the width takes.
std::vector<std::string> CurveLines(const v1::Curve& curve, int columns) {
  std::vector<std::string> lines;
  std::string batches = "batch";
  std::string steps = "steps";
  const auto flush = [&] {
    if (batches.size() == 5) return;
    lines.push_back(batches);
    lines.push_back(steps);
    batches = "batch";
    steps = "steps";
  };
  for (const v1::CurvePoint& point : curve.points()) {
    const std::string batch = absl::StrCat(point.batch_size());
    const std::string value = point.status() == v1::CurvePoint::REACHED
                                  ? (point.steps() < 1000 ? absl::StrCat(point.steps()) : Short(point.steps(), ""))
                                  : ".";
    const int width = std::max({batch.size(), value.size(), size_t{5}});
    if (static_cast<int>(batches.size()) + 2 + width > columns) flush();
    absl::StrAppendFormat(&batches, "  %*s", width, batch);
    absl::StrAppendFormat(&steps, "  %*s", width, value);
  }
  flush();
  return lines;
}

}  // namespace

std::vector<std::string> WatchScreen(const v1::Progress& progress, const std::vector<v1::Curve>& curves, int columns,
                                     int rows) {
  const v1::Sweep& sweep = progress.sweep();
  const int64_t done = Ended(sweep.counts());
  const int64_t total = std::max(Total(sweep.counts()), sweep.wanted());
  std::vector<std::string> lines = {
      absl::StrFormat("%s  %s/%s done  %s  %d %%   %s", sweep.name(), Grouped(done), Grouped(total), Bar(done, total),
                      Percent(done, total), PaceText(progress, "   ")),
      CountsText(sweep.counts(), "   ")};
  for (std::string& line : WaitingLines(progress)) lines.push_back(std::move(line));
  for (size_t i = 0; i < curves.size(); ++i) {
    const v1::Curve& curve = curves[i];
    const bool over = sweep.state() == v1::DONE || sweep.state() == v1::SWEEP_CANCELLED;
    std::vector<std::string> block = {
        absl::StrCat(curve.workload(), "  ", GoalText(curve.goal()), over ? "" : ", provisional")};
    for (std::string& line : CurveLines(curve, columns)) block.push_back(std::move(line));
    // The cursor goes back to the first line, which must not have left the screen.
    if (static_cast<int>(lines.size() + block.size()) + 1 >= rows) {
      lines.push_back(absl::StrFormat("... and %d more curves", curves.size() - i));
      break;
    }
    lines.insert(lines.end(), block.begin(), block.end());
  }
  for (std::string& line : lines) {
    if (static_cast<int>(line.size()) > columns) line.resize(columns);
  }
  return lines;
}

std::string WatchLine(const v1::Progress& progress) {
  const v1::Sweep& sweep = progress.sweep();
  const int64_t done = Ended(sweep.counts());
  const int64_t total = std::max(Total(sweep.counts()), sweep.wanted());
  std::string line = absl::StrFormat("%s  %s  %d/%d done  %d %%", Rfc3339(progress.time()), sweep.name(), done, total,
                                     Percent(done, total));
  for (const std::string& part :
       {PaceText(progress, "  "), CountsText(sweep.counts(), "  "), absl::StrJoin(WaitingLines(progress), "  ")}) {
    if (!part.empty()) absl::StrAppend(&line, "  ", part);
  }
  return line;
}

}  // namespace stepcurve
