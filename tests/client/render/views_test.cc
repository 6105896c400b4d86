// SPDX-License-Identifier: Apache-2.0
//
// What commands print, as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "absl/strings/str_split.h"
#include "client/render/curve_view.h"
#include "client/render/plan_view.h"
#include "client/render/sweep_view.h"
#include "client/render/trial_view.h"
#include "client/render/watch_view.h"
#include "tests/client/sample.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string CurveText(Format format) {
  v1::GetCurveResponse response;
  *response.add_curves() = SampleCurve();
  std::ostringstream out;
  PrintCurves(response, format, &out);
  return out.str();
}

TEST(CurveViewTest, Table) {
  EXPECT_EQ(CurveText(Format::kTable),
            R"(fashion_mnist/simple_cnn_base/sgd   sweep fig1   val/classification_error < 0.1
semantics published   first 100 trials of each study   space 9f3a (2 dims)   grid geometric 1.05
batch   steps   after  examples    trial   value    test  rank 3  rank 5  notes
    2  21,684  20,651    43.4 k     2/41  0.0998  0.1071    +5 %   +16 %
  512     302     287     155 k   512/17  0.0996       -    +5 %       -  once
 2048     331       -     678 k  2048/88  0.0992  0.1055       -       -  at least 315; edge learning_rate high; grid; above both neighbours
 8192     171     160    1.40 M   8192/3  0.0999       -       -       -  provisional
32768       -       -         -        -       -       -       -       -  only 7 of 100 trials; provisional
55000       -       -         -        -       -       -       -       -  not reached
3 of 6 points exact, 2 provisional (40 trials to come), 1 not (a trial that was stopped might have been sooner); 7 to 100 trials at each batch size: 10 stopped early, 3 diverged, 1 failed
)");
}

TEST(CurveViewTest, CsvHasTheDocumentedColumnsInOrder) {
  const std::vector<std::string> lines = absl::StrSplit(CurveText(Format::kCsv), '\n');
  ASSERT_THAT(lines, SizeIs(8));
  EXPECT_EQ(
      lines[0],
      "batch_size,steps,trial_id,value,reached,reason,exact,steps_at_least,previous_step,test_value,examples,epochs,"
      "pool,wanted,complete,stopped,infeasible,failed,cancelled,running,queued,rank2_steps,rank3_steps,rank4_steps,"
      "rank5_steps,repeats,repeat_median,repeat_low,repeat_high,warnings,certainty,trial,param.learning_rate,"
      "param.momentum,workload,goal,sweeps,semantics");
  EXPECT_EQ(
      lines[1],
      "2,21684,41,0.0998,true,,true,,20651,0.1071,43368,0.7885,100,100,100,0,3,0,0,0,0,21700,22768,24000,25153,,,,,,"
      "final,1041,0.0125,0.9,fashion_mnist/simple_cnn_base/sgd,val/classification_error < 0.1,fig1,published");
  EXPECT_EQ(lines[3],
            "2048,331,88,0.0992,true,,false,315,,0.1055,677888,12.325,100,100,90,10,0,0,0,0,0,,,,,,,,,"
            "edge:learning_rate:high;grid,censored,1288,9.81,0.9003,fashion_mnist/simple_cnn_base/sgd,"
            "val/classification_error < 0.1,fig1,published");
  // Unreached batch sizes keep their row.
  EXPECT_EQ(lines[6],
            "55000,,,,false,not_reached,true,,,,,,100,100,100,0,0,0,0,0,0,,,,,,,,,,final,,,,"
            "fashion_mnist/simple_cnn_base/sgd,val/classification_error < 0.1,fig1,published");
}

TEST(CurveViewTest, JsonKeepsTypes) {
  const std::vector<std::string> lines = absl::StrSplit(CurveText(Format::kJson), '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(6));
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_TRUE(first["steps"].is_number_integer());
  EXPECT_EQ(first["steps"], 21684);
  EXPECT_EQ(first["reached"], true);
  EXPECT_EQ(first["param.learning_rate"], 0.0125);
  EXPECT_EQ(first["reason"], nullptr);
  const auto third = nlohmann::json::parse(lines[2]);
  EXPECT_EQ(third["warnings"], nlohmann::json::array({"edge:learning_rate:high", "grid"}));
  const auto last = nlohmann::json::parse(lines[5]);
  EXPECT_EQ(last["steps"], nullptr);
  EXPECT_EQ(last["reason"], "not_reached");
}

TEST(PlanViewTest, Table) {
  v1::SweepPlan plan;
  for (int64_t batch_size : {2, 512, 8192, 55000}) *plan.add_studies() = SampleStudy(batch_size);
  plan.mutable_studies(3)->set_budget_steps(600);
  plan.set_wanted(400);
  plan.set_max_trials(4000);
  std::ostringstream out;
  PrintPlan("fig1", plan, Format::kTable, &out);
  EXPECT_EQ(out.str(), R"(sweep fig1: 1 workload, 4 studies, 400 trials wanted (cap 4,000)
  fashion_mnist/simple_cnn_base/sgd
   batch  trials  budget steps   epochs  evaluations  steps of all  examples of all
       2     100       110,000      4.0          129        11.0 M           22.0 M
     512     100       110,000   1024.0          129        11.0 M           5.63 G
    8192     100       110,000  16384.0          129        11.0 M           90.1 G
   55000     100           600    600.0          129        60.0 k           3.30 G
  at most 33.1 M steps and 99.1 G examples, 97 % of them at 512 and 8192
  space 9f3a (1 dim): learning_rate 1e-4..10 log, weight_decay 1e-4   sampler halton   schedule constant
  no connected worker could run this: no connected worker has data set fashion_mnist
)");
  plan.set_fitting_workers(3);
  plan.set_fitting_slots(24);
  std::ostringstream fitting;
  PrintPlan("fig1", plan, Format::kTable, &fitting);
  EXPECT_THAT(fitting.str(), HasSubstr("  3 connected workers could run this: 24 slots\n"));
}

TEST(PlanViewTest, JsonHasARowPerStudy) {
  v1::SweepPlan plan;
  *plan.add_studies() = SampleStudy(512);
  std::ostringstream out;
  PrintPlan("fig1", plan, Format::kJson, &out);
  const auto row = nlohmann::json::parse(out.str());
  EXPECT_EQ(row["batch_size"], 512);
  EXPECT_EQ(row["budget_steps"], 110000);
  EXPECT_EQ(row["epochs"], 1024.0);
  EXPECT_EQ(row["space"]["learning_rate"]["scale"], "log");
  EXPECT_EQ(row["space"]["weight_decay"], 1e-4);
}

v1::Progress SampleProgress() {
  v1::Progress progress;
  *progress.mutable_sweep() = SampleSweep();
  *progress.add_studies() = SampleStudy(2);
  *progress.add_studies() = SampleStudy(512);
  progress.mutable_time()->set_seconds(1800000060);
  progress.set_trials_per_second(3.14);
  progress.set_seconds_left(125);
  return progress;
}

TEST(WatchViewTest, Screen) {
  EXPECT_THAT(WatchScreen(SampleProgress(), {SampleCurve()}, 100, 24),
              ElementsAre("fig1  113/201 done  [###########----------]  56 %   3.1 trials/s   about 2 min left",
                          "complete 100   stopped 0   diverged 12   running 8   queued 80   failed 1",
                          "waiting: no connected worker has data set fashion_mnist (2 studies)",
                          "fashion_mnist/simple_cnn_base/sgd  val/classification_error < 0.1, provisional",
                          "batch      2    512   2048   8192  32768  55000",
                          "steps  21.7k    302    331    171      .      ."));
}

TEST(WatchViewTest, ScreenFitsTheTerminal) {
  for (const int columns : {20, 40, 79}) {
    const std::vector<std::string> lines = WatchScreen(SampleProgress(), {SampleCurve(), SampleCurve()}, columns, 12);
    EXPECT_LT(lines.size(), 12u);
    for (const std::string& line : lines) EXPECT_LE(static_cast<int>(line.size()), columns) << line;
  }
}

TEST(WatchViewTest, LineHasNoEscapeCodes) {
  EXPECT_EQ(WatchLine(SampleProgress()),
            "2027-01-15T08:01:00.000Z  fig1  113/201 done  56 %  3.1 trials/s  about 2 min left  "
            "complete 100  stopped 0  diverged 12  running 8  queued 80  failed 1  waiting: no connected worker has "
            "data set fashion_mnist (2 studies)");
}

TEST(WatchViewTest, EndedSweepsHaveNoTimeLeft) {
  v1::Progress progress = SampleProgress();
  progress.mutable_sweep()->set_state(v1::DONE);
  EXPECT_THAT(WatchLine(progress), HasSubstr("done"));
  EXPECT_THAT(WatchLine(progress), ::testing::Not(HasSubstr("left")));
  progress.mutable_sweep()->mutable_counts()->Clear();
  progress.mutable_sweep()->set_wanted(0);
  EXPECT_THAT(WatchLine(progress), HasSubstr("0/0 done  0 %"));
}

TEST(SweepViewTest, Table) {
  std::ostringstream out;
  PrintSweep(SampleSweep(), {SampleStudy(2), SampleStudy(512)}, Format::kTable, &out);
  EXPECT_EQ(out.str(), R"(sweep 12 fig1   active   113/201 done
figure 1
created 2027-01-15T08:00:00.000Z by ann@host   tags paper, cnn
goals val/classification_error < 0.1

fashion_mnist/simple_cnn_base/sgd
batch  budget steps  evaluations  wanted  complete  stopped  diverged  failed  cancelled  running  queued  waiting for
    2       110,000          129     100        50        0         6       0          0        4      40  no connected worker has data set fashion_mnist
  512       110,000          129     100        50        0         6       0          0        4      40  no connected worker has data set fashion_mnist
)");
}

TEST(SweepViewTest, ListRow) {
  std::ostringstream out;
  RowPrinter(Format::kTable, SweepColumns(), &out).Print({SweepRow(SampleSweep(), absl::FromUnixSeconds(1800007200))});
  EXPECT_EQ(out.str(), R"(id  name  state      done  failed  running  studies  tags        by        age
12  fig1  active  113/201       1        8        2  paper, cnn  ann@host  2 h
)");
}

v1::Trial SampleTrial() {
  return FromText<v1::Trial>(R"pb(
    id: 1041
    sweep: 12
    study: 7
    workload: "fashion_mnist/simple_cnn_base/sgd"
    batch_size: 512
    number: 41
    state: INFEASIBLE
    end_reason: DIVERGED
    last_step: 302
    budget_steps: 110000
    training_seed: 18446744073709551615
    parameters { name: "learning_rate" value: 9.81 }
    coordinates { name: "learning_rate" value: 9.81 }
    best { metric: "val/classification_error" value: 0.0998 step: 280 }
    attempt: 2
    worker: "node3"
    error: "the training loss was not finite at step 303"
    train_time { seconds: 12 nanos: 500000000 }
    eval_time { seconds: 1 }
    steps_to_goal: 287
    diverged_step: 303
    attempts {
      attempt: 1
      worker: "node2"
      device: "cpu"
      threads: 2
      build: "0.1.0"
      last_step: 100
      outcome: "lost"
      log_tail: "one\ntwo\n"
      end_time { seconds: 1 }
    }
  )pb");
}

TEST(TrialViewTest, Table) {
  std::ostringstream out;
  PrintTrial(SampleTrial(), Format::kTable, &out);
  EXPECT_EQ(out.str(), R"(trial 1041   fashion_mnist/simple_cnn_base/sgd   512/41   sweep 12
infeasible (diverged) at step 303 of 110,000
  parameters   learning_rate 9.81
  coordinates  learning_rate 9.81
  seed         18446744073709551615
  best         val/classification_error 0.0998 at step 280
  worker       node3
  time         12.5 s training, 1.0 s evaluating
  error        the training loss was not finite at step 303
  attempt 1    lost at step 100 on node2 (cpu, 2 threads, build 0.1.0)
last lines of its log:
  | one
  | two
)");
}

TEST(TrialViewTest, TheLogIsOfTheLastAttemptThatEnded) {
  v1::Trial trial = SampleTrial();
  trial.set_state(v1::RUNNING);
  v1::Attempt* running = trial.add_attempts();
  running->set_attempt(2);
  running->set_worker("node3");
  running->set_outcome("running");
  std::ostringstream out;
  PrintTrial(trial, Format::kTable, &out);
  EXPECT_THAT(out.str(), EndsWith("  attempt 2    running at step 0 on node3\n"
                                  "last lines of its log:\n  | one\n  | two\n"));
}

TEST(TrialViewTest, JsonKeepsTheSeedExactly) {
  std::ostringstream out;
  PrintTrial(SampleTrial(), Format::kJson, &out);
  const auto trial = nlohmann::json::parse(out.str());
  EXPECT_EQ(trial["training_seed"], 18446744073709551615u);
  EXPECT_EQ(trial["parameters"]["learning_rate"], 9.81);
  EXPECT_EQ(trial["step"], 302);
  EXPECT_EQ(trial["diverged_step"], 303);
}

TEST(TrialViewTest, ListRow) {
  const TrialColumns columns{.metric = "val/classification_error", .parameters = {"learning_rate"}, .goal = true};
  std::ostringstream table;
  RowPrinter(Format::kTable, columns.Columns(), &table).Print({columns.RowOf(SampleTrial())});
  EXPECT_EQ(table.str(),
            R"( trial    id  state     reason    step  best val/classification_error  at step    T  learning_rate  error
512/41  1041  diverged  diverged   302                         0.0998      280  287           9.81  the training loss was not finite at step 303
)");
  std::ostringstream csv;
  RowPrinter(Format::kCsv, columns.Columns(), &csv).Print({columns.RowOf(SampleTrial())});
  EXPECT_EQ(
      csv.str(),
      R"(trial,id,workload,batch_size,number,state,reason,step,budget_steps,best,best_step,steps_to_goal,param.learning_rate,worker,error
512/41,1041,fashion_mnist/simple_cnn_base/sgd,512,41,infeasible,diverged,302,110000,0.0998,280,287,9.81,node3,the training loss was not finite at step 303
)");
}

TEST(MeasurementPrinterTest, PrintsStepsAndRefusesOtherMetrics) {
  std::ostringstream out;
  MeasurementPrinter printer(Format::kCsv, &out);
  v1::MeasurementBatch batch = FromText<v1::MeasurementBatch>(
      "trial: 5 attempt: 1 metrics: ['val/loss', 'train/loss'] measurements { step: 0 values: [1, nan] } "
      "measurements { step: 1 values: [-inf, -0.0] }");
  ASSERT_TRUE(printer.Print(batch).ok());
  batch = FromText<v1::MeasurementBatch>(
      "trial: 6 attempt: 2 metrics: 'train/loss' measurements { step: 3 values: 5e-324 }");
  ASSERT_TRUE(printer.Print(batch).ok());
  EXPECT_EQ(out.str(),
            "trial,attempt,step,val/loss,train/loss,superseded\n"
            "5,1,0,1,NaN,false\n5,1,1,-Infinity,-0,false\n6,2,3,,5e-324,false\n");
  batch.add_metrics("val/error");
  EXPECT_EQ(printer.Print(batch).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace stepcurve
