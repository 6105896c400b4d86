// SPDX-License-Identifier: Apache-2.0
//
// A small sweep and its curve, with every kind of point, for the tests of what is printed.
#pragma once

#include "stepcurve/v1/curve_service.pb.h"
#include "stepcurve/v1/sweep.pb.h"
#include "tests/client/messages.h"

namespace stepcurve {

inline v1::Curve SampleCurve() {
  return FromText<v1::Curve>(R"pb(
    workload: "fashion_mnist/simple_cnn_base/sgd"
    goal { metric: "val/classification_error" comparison: LESS threshold: 0.1 }
    sweeps: "fig1"
    semantics: PUBLISHED
    first_trials: 100
    space: "9f3a (2 dims)"
    grid: "geometric 1.05"
    training_examples: 55000
    parameters: [ "learning_rate", "momentum" ]
    points {
      batch_size: 2
      status: REACHED
      certainty: FINAL
      steps: 21684
      previous_step: 20651
      number: 41
      trial: 1041
      value: 0.0998
      test_value: 0.1071
      pool: 100
      wanted: 100
      examples: 43368
      epochs: 0.7885
      rank_steps: [ 21700, 22768, 24000, 25153 ]
      counts { complete: 100 infeasible: 3 }
      parameters { name: "learning_rate" value: 0.0125 }
      parameters { name: "momentum" value: 0.9 }
    }
    points {
      batch_size: 512
      status: REACHED
      certainty: FINAL
      steps: 302
      previous_step: 287
      number: 17
      trial: 1117
      value: 0.0996
      test_value: nan
      pool: 100
      wanted: 100
      examples: 154624
      epochs: 2.8114
      rank_steps: [ 310, 317, -1, -1 ]
      counts { complete: 100 }
      warnings { code: "once" text: "next is back" }
      parameters { name: "learning_rate" value: 0.21 }
      parameters { name: "momentum" value: 0.95 }
    }
    points {
      batch_size: 2048
      status: REACHED
      certainty: CENSORED
      steps: 331
      steps_at_least: 315
      previous_step: -1
      number: 88
      trial: 1288
      value: 0.0992
      test_value: 0.1055
      pool: 100
      wanted: 100
      examples: 677888
      epochs: 12.325
      counts { complete: 90 stopped: 10 }
      warnings { code: "edge:learning_rate:high" }
      warnings { code: "grid" }
      parameters { name: "learning_rate" value: 9.81 }
      parameters { name: "momentum" value: 0.9003 }
    }
    points {
      batch_size: 8192
      status: REACHED
      certainty: PROVISIONAL
      steps: 171
      previous_step: 160
      number: 3
      trial: 1303
      value: 0.0999
      test_value: nan
      pool: 60
      wanted: 100
      examples: 1400832
      epochs: nan
      counts { complete: 60 running: 8 queued: 32 }
    }
    points {
      batch_size: 32768
      status: TOO_FEW
      certainty: PROVISIONAL
      pool: 7
      wanted: 100
      counts { complete: 7 failed: 1 }
    }
    points {
      batch_size: 55000
      status: NOT_REACHED
      certainty: FINAL
      pool: 100
      wanted: 100
      counts { complete: 100 }
    }
  )pb");
}

inline v1::Sweep SampleSweep() {
  return FromText<v1::Sweep>(R"pb(
    id: 12
    name: "fig1"
    description: "figure 1"
    tags: [ "paper", "cnn" ]
    state: ACTIVE
    creator: "ann@host"
    create_time { seconds: 1800000000 }
    semantics: PUBLISHED
    studies: 2
    wanted: 200
    goals: "val/classification_error < 0.1"
    counts { queued: 80 running: 8 complete: 100 infeasible: 12 failed: 1 }
  )pb");
}

inline v1::Study SampleStudy(int64_t batch_size) {
  v1::Study study = FromText<v1::Study>(R"pb(
    id: 7
    workload {
      id: 1
      dataset: "fashion_mnist"
      model: "simple_cnn_base"
      optimizer: "sgd"
      address: "fashion_mnist/simple_cnn_base/sgd"
    }
    budget_steps: 110000
    evaluations: 129
    wanted: 100
    max_trials: 1000
    counts { queued: 40 running: 4 complete: 50 infeasible: 6 }
    space {
      name: "learning_rate"
      range { min: 1e-4 max: 10 scale: "log" }
    }
    space { name: "weight_decay" fixed: 1e-4 }
    space_hash: "9f3a0011"
    schedule: "constant"
    sampler: "halton"
    grid { geometric { ratio_millionths: 1050000 first: 220 } }
    metrics: [ "train/classification_error", "val/classification_error" ]
    training_examples: 55000
    waiting_for: WORKER_WITHOUT_DATASET
    missing: "fashion_mnist"
  )pb");
  study.set_batch_size(batch_size);
  return study;
}

}  // namespace stepcurve
