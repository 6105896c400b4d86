// SPDX-License-Identifier: Apache-2.0
#include "server/store/pqxx_status.h"

#include <exception>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/store/database.h"

#include <pqxx/pqxx>

namespace stepcurve {
namespace {

// libpqxx passes libpq's whole text on: "ERROR:  primary message\nDETAIL:  ...\nLINE 1: the statement".
absl::string_view PrimaryMessage(absl::string_view text) {
  text = text.substr(0, text.find('\n'));
  for (const absl::string_view severity : {"ERROR:", "FATAL:", "PANIC:"}) {
    if (absl::ConsumePrefix(&text, severity)) {
      break;
    }
  }
  while (absl::ConsumePrefix(&text, " ")) {
  }
  return text;
}

}  // namespace

absl::Status CatchPqxx(absl::FunctionRef<absl::Status()> body) try {
  return body();
} catch (const pqxx::in_doubt_error& e) {
  return absl::UnknownError("the connection to PostgreSQL was lost during a commit: it may have succeeded");
} catch (const pqxx::statement_completion_unknown& e) {  // Derives from transaction_rollback: it goes first.
  return absl::UnknownError(PrimaryMessage(e.what()));
} catch (const pqxx::transaction_rollback& e) {
  return absl::AbortedError(PrimaryMessage(e.what()));
} catch (const pqxx::broken_connection& e) {
  return absl::UnavailableError(absl::StrCat("no connection to PostgreSQL: ", PrimaryMessage(e.what())));
} catch (const pqxx::sql_error& e) {
  return StatusFromSqlState(e.sqlstate(), PrimaryMessage(e.what()));
} catch (const std::exception& e) {
  return absl::InternalError(PrimaryMessage(e.what()));
}

}  // namespace stepcurve
