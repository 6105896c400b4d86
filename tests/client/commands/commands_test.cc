// SPDX-License-Identifier: Apache-2.0
//
// The other commands: what they ask for, what they print, and what they end with.
#include "client/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/exit_status.h"
#include "tests/client/commands/command_test.h"
#include "tests/client/sample.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CommandsTest : public CommandTest {};

struct CodeCase {
  grpc::StatusCode code;
  int status;
};

// For the names that ctest shows.
void PrintTo(const CodeCase& row, std::ostream* out) { *out << "code " << row.code; }

class ExitStatusTest : public CommandTest, public ::testing::WithParamInterface<CodeCase> {};

TEST_P(ExitStatusTest, FollowsTheServersCode) {
  server_.get_sweep = [](const auto&, auto*) { return grpc::Status(GetParam().code, "words"); };
  const Result result = Run({"show", "fig1"});
  EXPECT_EQ(result.status, GetParam().status);
  EXPECT_EQ(result.err, "stepcurve show: words\n");
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(All, ExitStatusTest,
                         ::testing::Values(CodeCase{grpc::INVALID_ARGUMENT, 2}, CodeCase{grpc::NOT_FOUND, 2},
                                           CodeCase{grpc::ALREADY_EXISTS, 2}, CodeCase{grpc::FAILED_PRECONDITION, 2},
                                           CodeCase{grpc::UNAUTHENTICATED, 2}, CodeCase{grpc::PERMISSION_DENIED, 2},
                                           CodeCase{grpc::UNIMPLEMENTED, 2}, CodeCase{grpc::UNAVAILABLE, 3},
                                           CodeCase{grpc::ABORTED, 3}, CodeCase{grpc::RESOURCE_EXHAUSTED, 3},
                                           CodeCase{grpc::DEADLINE_EXCEEDED, 3}, CodeCase{grpc::INTERNAL, 1},
                                           CodeCase{grpc::UNKNOWN, 1}));

struct ArgumentCase {
  std::vector<std::string> arguments;
  std::string error;
};

// For the names that ctest shows.
void PrintTo(const ArgumentCase& row, std::ostream* out) { *out << absl::StrJoin(row.arguments, " "); }

class WrongArgumentsTest : public CommandTest, public ::testing::WithParamInterface<ArgumentCase> {};

TEST_P(WrongArgumentsTest, GetOneLineAndExitStatus2) {
  const Result result = Run(GetParam().arguments);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, StartsWith(GetParam().error));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(result.err, '\n')), SizeIs(2)) << result.err;
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongArgumentsTest,
    ::testing::Values(
        ArgumentCase{{"nosuch"}, "stepcurve: no command \"nosuch\"; there are submit, sweeps, "},
        ArgumentCase{{"--output", "csv", "nosuch"}, "stepcurve: no command \"nosuch\""},
        ArgumentCase{{"--output=csv"}, "stepcurve: A subcommand is required"},
        ArgumentCase{{"show"}, "stepcurve show: SWEEP is required"},
        ArgumentCase{{"show", "a", "b"}, "stepcurve show: The following argument was not expected: b"},
        ArgumentCase{{"show", "a", "--nosuch"}, "stepcurve show: The following argument was not expected: --nosuch"},
        ArgumentCase{{"sweeps", "--state", "running"}, "stepcurve sweeps: --state: running not in {active,"},
        ArgumentCase{{"sweeps", "--output", "yaml"}, "stepcurve sweeps: --output: yaml not in {table,json,csv}"},
        ArgumentCase{{"trials", "a", "--limit", "0"}, "stepcurve trials: --limit: 0 is not an integer of at least 1"},
        ArgumentCase{{"trials", "a", "--batch-size", "1e30"}, "stepcurve trials: --batch-size: 1e30 is not an integer"},
        ArgumentCase{{"curve", "a/b/c"}, "stepcurve curve: --goal is required"},
        ArgumentCase{{"curve", "a/b/c", "--goal", "val/loss"}, "stepcurve curve: goal \"val/loss\" has no <"},
        ArgumentCase{{"curve", "a/b/c", "--goal", "val/loss < 1", "--include", "all"},
                     "stepcurve curve: --include: all not in {incomplete,infeasible,running}"},
        ArgumentCase{{"plot", "pie", "a/b/c", "--goal", "val/loss < 1"}, "stepcurve plot: KIND: pie not in {steps}"},
        ArgumentCase{{"completion", "fish"}, "stepcurve completion: SHELL: fish not in {bash,zsh}"},
        ArgumentCase{{"--server", "localhost", "sweeps"}, "stepcurve sweeps: server address is \"localhost\""}));

TEST_F(CommandsTest, SayWhereNobodyAnswers) {
  const Result result = Run({"sweeps", "--server", "127.0.0.1:1"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, StartsWith("stepcurve sweeps: no stepcurve-server answers at 127.0.0.1:1"));
}

TEST_F(CommandsTest, AllHaveHelpWithExamples) {
  for (const Command& command : Commands()) {
    const Result result = Run({command.name, "--help"});
    EXPECT_EQ(result.status, 0);
    EXPECT_THAT(result.out, HasSubstr(std::string("Examples:\n  ")));
    EXPECT_THAT(result.out, HasSubstr(std::string("stepcurve ") + command.name));
    EXPECT_EQ(result.err, "");
  }
  const Result overview = Run({"--help"});
  EXPECT_EQ(overview.status, 0);
  for (const Command& command : Commands()) EXPECT_THAT(overview.out, HasSubstr(command.summary));
  EXPECT_EQ(Run({}).status, 2);
  EXPECT_EQ(Run({"--version"}).status, 0);
  EXPECT_THAT(Run({"version", "--output", "json"}).out, StartsWith("{\"version\":\""));
}

TEST_F(CommandsTest, SweepsPrintsEveryPage) {
  std::vector<v1::ListSweepsRequest> requests;
  server_.list_sweeps = [&](const v1::ListSweepsRequest& request, v1::ListSweepsResponse* response) {
    requests.push_back(request);
    *response->add_sweeps() = SampleSweep();
    if (requests.size() < 3) response->set_next_page_token(std::to_string(requests.size()));
    return grpc::Status::OK;
  };
  const Result result = Run({"sweeps", "--output", "csv", "--state", "done", "--tag", "paper"});
  EXPECT_EQ(result.status, 0);
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[1],
            "12,fig1,active,100,0,12,1,0,8,80,200,2,0,,paper;cnn,val/classification_error < 0.1,published,ann@host,"
            "2027-01-15T08:00:00.000Z,,figure 1");
  EXPECT_EQ(requests[0].state(), v1::DONE);
  EXPECT_EQ(requests[0].tag(), "paper");
  EXPECT_EQ(requests[2].page_token(), "2");
}

TEST_F(CommandsTest, ShowPrintsOneObjectWithItsStudies) {
  server_.get_sweep = [](const v1::GetSweepRequest& request, v1::GetSweepResponse* response) {
    EXPECT_EQ(request.sweep(), "fig1");
    *response->mutable_sweep() = SampleSweep();
    *response->add_studies() = SampleStudy(2);
    return grpc::Status::OK;
  };
  const auto json = nlohmann::json::parse(Run({"show", "fig1", "--output=json"}).out);
  EXPECT_EQ(json["sweep"], 12);
  EXPECT_EQ(json["study_list"][0]["batch_size"], 2);
  EXPECT_THAT(Run({"show", "fig1"}).out, StartsWith("sweep 12 fig1   active"));
  EXPECT_THAT(Run({"show", "fig1", "--output=csv"}).out, StartsWith("study,workload,batch_size,"));
}

TEST_F(CommandsTest, SpecPrintsAFileThatCanBeSubmitted) {
  server_.get_sweep = [](const v1::GetSweepRequest& request, v1::GetSweepResponse* response) {
    *response->mutable_spec() = FromText<v1::SweepSpec>(
        "name: 'fig1' batch_sizes { sizes: 9223372036854775807 } search { space { name: 'a' fixed: 1e-4 } }");
    *response->mutable_sweep() = SampleSweep();
    if (request.resolved()) response->set_resolved("everything: 1\n");
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"spec", "fig1"}).out,
            "name: fig1\nbatch_sizes: [9223372036854775807]\nsearch:\n  space:\n    a: 1e-4\n");
  EXPECT_EQ(Run({"spec", "fig1", "--output", "json"}).out,
            "{\"name\":\"fig1\",\"batch_sizes\":[9223372036854775807],\"search\":{\"space\":{\"a\":0.0001}}}\n");
  EXPECT_EQ(Run({"spec", "fig1", "--resolved"}).out, "everything: 1\n");
  EXPECT_EQ(Run({"spec", "fig1", "--resolved", "--output", "json"}).out,
            "{\"sweep\":\"fig1\",\"resolved\":\"everything: 1\\n\"}\n");
}

TEST_F(CommandsTest, MovesPrintTheStateThatCameOfThem) {
  const auto answer = [](const auto& request, auto* response) {
    EXPECT_EQ(request.sweep(), "fig1");
    *response->mutable_sweep() = SampleSweep();
    return grpc::Status::OK;
  };
  server_.pause_sweep = answer;
  server_.resume_sweep = answer;
  server_.cancel_sweep = answer;
  for (const char* move : {"pause", "resume", "cancel"}) {
    const Result result = Run({move, "fig1"});
    EXPECT_EQ(result.status, 0) << move;
    EXPECT_EQ(result.out, "sweep 12 fig1 is active\n");
    EXPECT_EQ(nlohmann::json::parse(Run({move, "fig1", "--output", "json"}).out)["state"], "active");
  }
}

TEST_F(CommandsTest, TrialsAsksPageByPageUpToTheLimit) {
  server_.get_sweep = [](const auto&, v1::GetSweepResponse* response) {
    *response->mutable_sweep() = SampleSweep();
    *response->add_studies() = SampleStudy(2);
    return grpc::Status::OK;
  };
  std::vector<v1::ListTrialsRequest> requests;
  server_.list_trials = [&](const v1::ListTrialsRequest& request, v1::ListTrialsResponse* response) {
    requests.push_back(request);
    for (int i = 0; i < std::min(request.page_size(), 1000); ++i) {
      *response->add_trials() = FromText<v1::Trial>(
          "id: 9007199254740993 batch_size: 2 number: 5 state: COMPLETE end_reason: BUDGET last_step: 100 "
          "best { metric: 'val/classification_error' value: 0.25 step: 90 } "
          "parameters { name: 'learning_rate' value: 0.1 } steps_to_goal: 60");
    }
    response->set_next_page_token("more");
    return grpc::Status::OK;
  };
  const Result result =
      Run({"trials", "fig1", "--state", "complete", "--state", "failed", "--batch-size", "2", "--goal",
           "val/classification_error < 0.3", "--sort", "steps", "--descending", "--limit", "1500", "--output", "csv"});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(1501));
  EXPECT_EQ(lines[0],
            "trial,id,workload,batch_size,number,state,reason,step,budget_steps,best,best_step,steps_to_goal,"
            "param.learning_rate,param.weight_decay,worker,error");
  EXPECT_EQ(lines[1], "2/5,9007199254740993,,2,5,complete,budget,100,0,0.25,90,60,0.1,,,");
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].page_size(), 1000);
  EXPECT_EQ(requests[1].page_size(), 500);
  EXPECT_EQ(requests[1].page_token(), "more");
  EXPECT_THAT(requests[0].states(), ::testing::ElementsAre(v1::COMPLETE, v1::FAILED));
  EXPECT_EQ(requests[0].goal().threshold(), 0.3);
  EXPECT_EQ(requests[0].order_by(), "steps");
  EXPECT_TRUE(requests[0].descending());
}

TEST_F(CommandsTest, TrialPassesItsAddressOn) {
  server_.get_trial = [](const v1::GetTrialRequest& request, v1::GetTrialResponse* response) {
    EXPECT_EQ(request.trial(), "2048/88");
    EXPECT_EQ(request.sweep(), "fig1");
    EXPECT_EQ(request.workload(), "a/b/c");
    response->mutable_trial()->set_id(1288);
    return grpc::Status::OK;
  };
  const Result result = Run({"trial", "2048/88", "--sweep", "fig1", "--workload", "a/b/c", "--output", "json"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["id"], 1288);
}

TEST_F(CommandsTest, MeasurementsAreCsvWhereNoTerminalIs) {
  server_.stream_measurements = [](const v1::StreamMeasurementsRequest& request,
                                   grpc::ServerWriter<v1::StreamMeasurementsResponse>* writer) {
    EXPECT_THAT(request.trials(), ::testing::ElementsAre("1", "2"));
    EXPECT_EQ(request.metric(), "val/loss");
    for (int64_t trial : {1, 2}) {
      v1::StreamMeasurementsResponse response;
      *response.mutable_batch() =
          FromText<v1::MeasurementBatch>("attempt: 1 metrics: 'val/loss' measurements { step: 0 values: 0.5 }");
      response.mutable_batch()->set_trial(trial);
      writer->Write(response);
    }
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"measurements", "1", "2", "--metric", "val/loss"}).out,
            "trial,attempt,step,val/loss,superseded\n1,1,0,0.5,false\n2,1,0,0.5,false\n");
  environment_.out_is_terminal = true;
  EXPECT_EQ(Run({"measurements", "1", "2", "--metric", "val/loss"}).out,
            "trial  attempt  step  val/loss\n    1        1     0       0.5\n    2        1     0       0.5\n");
  EXPECT_THAT(Run({"measurements", "1", "2", "--metric", "val/loss", "--output", "json"}).out,
              StartsWith("{\"trial\":1,\"attempt\":1,\"step\":0,\"val/loss\":0.5,"));
}

TEST_F(CommandsTest, CurvePassesEveryOptionOn) {
  v1::GetCurveRequest seen;
  server_.get_curve = [&](const v1::GetCurveRequest& request, v1::GetCurveResponse* response) {
    seen = request;
    *response->add_curves() = SampleCurve();
    return grpc::Status::OK;
  };
  const Result result = Run({"curve", "a/b/c", "--goal", "val/loss < 0.1", "--goal", "val/loss<=0.01", "--sweep", "x",
                             "--sweep", "y", "--pool", "--semantics", "reached", "--trials", "100", "--include",
                             "incomplete,running", "--output", "csv"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("batch_size,steps,trial_id,"));
  EXPECT_EQ(seen.goals_size(), 2);
  EXPECT_EQ(seen.goals(1).comparison(), v1::Goal::LESS_OR_EQUAL);
  EXPECT_THAT(seen.sweeps(), ::testing::ElementsAre("x", "y"));
  EXPECT_TRUE(seen.pool());
  EXPECT_FALSE(seen.all_sweeps());
  EXPECT_EQ(seen.semantics(), v1::REACHED);
  EXPECT_EQ(seen.first_trials(), 100);
  EXPECT_TRUE(seen.include_incomplete());
  EXPECT_FALSE(seen.include_infeasible());
  EXPECT_TRUE(seen.include_running());
}

TEST_F(CommandsTest, PlotDrawsInTheTerminalAndPrintsItsData) {
  server_.get_curve = [](const auto&, v1::GetCurveResponse* response) {
    *response->add_curves() = SampleCurve();
    return grpc::Status::OK;
  };
  EXPECT_THAT(Run({"plot", "steps", "a/b/c", "--goal", "val/loss < 1"}).out,
              HasSubstr("A measured   . perfect scaling"));
  const Result csv = Run({"plot", "steps", "a/b/c", "--goal", "val/loss < 1", "--output", "csv"});
  EXPECT_THAT(csv.out, StartsWith("workload,goal,sweeps,batch_size,steps,previous_step,perfect\n"));
  const Result both = Run({"plot", "steps", "a/b/c", "d/e/f", "--goal", "val/loss < 1", "-o", Path("fig.svg")});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_THAT(ReadFile(Path("fig.svg")), HasSubstr("<svg"));
  EXPECT_EQ(Run({"plot", "steps", "a/b/c", "--goal", "val/loss < 1", "--script"}).status, 2);
  EXPECT_EQ(Run({"plot", "steps", "a/b/c", "--goal", "val/loss < 1", "-o", "fig.gif"}).status, 2);
}

TEST_F(CommandsTest, RegistriesArePrinted) {
  server_.list_workloads = [](const auto&, v1::ListWorkloadsResponse* response) {
    *response = FromText<v1::ListWorkloadsResponse>(
        "workloads { workload { address: 'quadratic/noisy_quadratic/sgd' } batch_sizes: [8, 16] sweeps: 'small' }");
    return grpc::Status::OK;
  };
  server_.list_workers = [](const auto&, v1::ListWorkersResponse* response) {
    *response = FromText<v1::ListWorkersResponse>(
        "workers { name: 'node1' connected: true running: 3 datasets: 'fashion_mnist' "
        "slots { device: 'cpu' devices: 1 threads: 2 slots: 4 } }");
    return grpc::Status::OK;
  };
  server_.get_catalogue = [](const auto&, v1::GetCatalogueResponse* response) {
    *response = FromText<v1::GetCatalogueResponse>(
        "datasets { name: 'fashion_mnist' task: 'classification' train_examples: 55000 } "
        "optimizers { name: 'sgd' parameters { name: 'learning_rate' domain: '(0, inf)' required: true } "
        "parameters { name: 'weight_decay' domain: '[0, inf)' default_value: 0 } }");
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"workloads", "--output", "csv"}).out,
            "workload,batch_sizes,sweeps,metrics\nquadratic/noisy_quadratic/sgd,8;16,small,\n");
  EXPECT_THAT(Run({"workers"}).out, HasSubstr("node1   yes              3      4  cpu"));
  EXPECT_THAT(Run({"datasets"}).out, HasSubstr("fashion_mnist  classification  55,000"));
  EXPECT_EQ(Run({"metaparameters", "fashion_mnist/fc_64/sgd@x", "--output", "csv"}).out,
            "name,domain,default,required\nlearning_rate,\"(0, inf)\",,true\nweight_decay,\"[0, inf)\",0,false\n");
  EXPECT_EQ(Run({"metaparameters", "a/b/adam"}).status, 2);
}

TEST_F(CommandsTest, ResultsThatCannotBeWrittenAreAFailure) {
  server_.list_sweeps = [](const auto&, auto*) { return grpc::Status::OK; };
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Environment environment = environment_;
  environment.out = &out;
  environment.err = &err;
  EXPECT_EQ(RunCommandLine({"sweeps"}, environment), 1);
  EXPECT_EQ(err.str(), "stepcurve sweeps: cannot write the results\n");
}

}  // namespace
}  // namespace stepcurve
