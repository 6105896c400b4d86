// SPDX-License-Identifier: Apache-2.0
#include "worker/run/trial_run.h"

namespace stepcurve {

double TrialRun::Parameter(const std::string& name, double fallback) const {
  for (const Metaparameter& parameter : parameters) {
    if (parameter.name == name) return parameter.value;
  }
  return fallback;
}

}  // namespace stepcurve
