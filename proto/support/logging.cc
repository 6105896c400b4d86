// SPDX-License-Identifier: Apache-2.0
#include "proto/support/logging.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace stepcurve {

void SetUpLogging(absl::string_view program) {
  auto logger =
      std::make_shared<spdlog::logger>(std::string(program), std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %n %l: %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
  const char* text = std::getenv("STEPCURVE_LOG");
  if (text == nullptr) return;
  // from_str answers off for what it does not know; a typo must not silence a daemon.
  const spdlog::level::level_enum level = spdlog::level::from_str(text);
  if (level == spdlog::level::off && absl::string_view(text) != "off") {
    logger->warn("STEPCURVE_LOG is {}; it must be debug, info, warn, error or off", text);
  } else {
    logger->set_level(level);
  }
}

}  // namespace stepcurve
