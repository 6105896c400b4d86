// SPDX-License-Identifier: Apache-2.0
//
// What the schema's constraints refuse, whoever writes it.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/postgres.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;

std::string EndedTrial(const std::string& state, const std::string& reason, const std::string& end_step) {
  return absl::StrCat(
      "INSERT INTO trials (study_id, strand_id, number, position, training_seed, parameters, attempt, end_time, state,"
      " end_reason, end_step) VALUES (1, 1, 1, 0, 1, '{1}', 1, now(), '",
      state, "', '", reason, "', ", end_step, ")");
}
std::string Chunk(const std::string& first_step, const std::string& last_step, const std::string& steps) {
  return absl::StrCat("INSERT INTO chunks VALUES (1, 1, ", first_step, ", ", last_step, ", 0, 0, '{", steps,
                      "}', '{0.5,0.5}')");
}
std::string Sweep(const std::string& column, const std::string& value) {
  return absl::StrCat("INSERT INTO sweeps (name, semantics, request_id, spec_digest, spec, spec_json, resolved, ",
                      column, ") VALUES ('s', 'published', '', '', '', '{}', '', ", value, ")");
}

class SchemaTest : public PostgresTest {
 protected:
  std::string Write(const std::string& statement) {
    const absl::Status status = database_->Transaction([&](pqxx::work& work) {
      work.exec(statement);
      return absl::OkStatus();
    });
    return status.ok() ? "OK" : std::string(status.message());
  }
};

TEST_F(SchemaTest, AdmitsWhatTheServerWrites) {
  for (const std::string& statement :
       {EndedTrial("complete", "budget", "NULL"), EndedTrial("infeasible", "diverged", "7"), Chunk("0", "10", "0,10"),
        Chunk("3", "3", "3")}) {
    EXPECT_EQ(Write(statement), "OK") << statement;
    Sql("TRUNCATE trials, chunks");
  }
}

struct Refused {
  std::string name;
  std::string statement;
  std::string constraint;
};

class RefusedRowTest : public SchemaTest, public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedRowTest, NamesItsConstraint) {
  EXPECT_THAT(Write(GetParam().statement), HasSubstr(absl::StrCat("\"", GetParam().constraint, "\"")));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedRowTest,
    ::testing::Values(
        Refused{"Reason", EndedTrial("complete", "error", "NULL"), "reason_fits_state"},
        Refused{"DivergedNowhere", EndedTrial("infeasible", "diverged", "NULL"), "diverged_has_its_step"},
        Refused{"CompleteAtAStep", EndedTrial("complete", "budget", "7"), "diverged_has_its_step"},
        Refused{"SlotClassOfNobody",
                "INSERT INTO trials (study_id, strand_id, number, position, training_seed, parameters, slot_class)"
                " VALUES (1, 1, 1, 0, 1, '{1}', 0)",
                "slot_class_is_the_holders"},
        Refused{"Outcome",
                "INSERT INTO past_attempts (trial_id, attempt, session_id, last_step, start_time, outcome)"
                " VALUES (1, 1, 1, -1, now(), 'bored')",
                "outcome_is_known"},
        Refused{"FewerThanNone", Sweep("running", "-1"), "running_is_a_count"},
        Refused{"TurnedAlive", Sweep("cancel_pending", "true"), "only_cancelled_sweeps_are_turned"},
        Refused{"FirstStep", Chunk("1", "10", "0,10"), "chunk_ends_are_its_steps"},
        Refused{"LastStep", Chunk("0", "11", "0,10"), "chunk_ends_are_its_steps"},
        Refused{"StepTwice", Chunk("5", "5", "5,5"), "chunk_is_ordered"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
