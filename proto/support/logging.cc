// SPDX-License-Identifier: Apache-2.0
#include "proto/support/logging.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace stepcurve {

void SetUpLogging(absl::string_view program) {
  auto logger = std::make_shared<spdlog::logger>(std::string(program),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %n %l: %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
  if (const char* level = std::getenv("STEPCURVE_LOG")) {
    logger->set_level(spdlog::level::from_str(level));
  }
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace stepcurve
