#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the sweep of the noisy quadratic whose answers are known: 100 log-spaced rates from 1e-5 to 10^0.5."""
import sys

name = sys.argv[1] if len(sys.argv) > 1 else "quadratic-exact"
rates = [10 ** (-5 + 5.5 * i / 99) for i in range(100)]
print(f"""name: {name}
description: steps to an expected loss of 0.01, every step evaluated
workloads: [{{dataset: quadratic, model: noisy_quadratic, optimizer: sgd}}]
batch_sizes: [256, 1024, 65536]
search:
  sampler: points
  top_up: false
  points:""")
for rate in rates:
    print(f"    - {{learning_rate: {rate!r}}}")
print("""budget: {per_batch_size: {256: 27000, 1024: 11000, 65536: 7500}}
evaluation: {every: 1}
goals: ["val/loss < 0.01"]""")
