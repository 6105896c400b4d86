// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/store/database.h"

namespace stepcurve {

// A test on real PostgreSQL, named by STEPCURVE_TEST_POSTGRES (a libpq conninfo). Every test has a schema of its own,
// migrated, dropped at its end. A test that finds no PostgreSQL fails.
class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // For tests that migrate by themselves: an empty schema's options, nothing in it.
  virtual bool migrated() const { return true; }

  // Runs one or several statements and returns the rows of the last as psql would show them: columns joined by "|",
  // NULL as "". Fails the test, naming the statement, if PostgreSQL refuses.
  std::vector<std::string> Sql(const std::string& statements);
  // The only column of the only row.
  std::string Value(const std::string& statement);
  int64_t Number(const std::string& statement);

  Database::Options options_;
  std::unique_ptr<Database> database_;  // On options_; reset it to have no connections.
};

// STEPCURVE_TEST_POSTGRES; fails the test and returns "" where it is not set.
std::string TestConninfo();

}  // namespace stepcurve
