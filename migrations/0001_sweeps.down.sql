-- SPDX-License-Identifier: Apache-2.0
DROP VIEW measurements;
DROP TABLE envelopes, records, chunks, past_attempts, grants, requeued, trials, strands, studies, workloads, sweeps,
           sessions, service;
DROP TYPE trial_state, end_reason, sweep_state, curve_semantics;
