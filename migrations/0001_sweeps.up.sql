-- SPDX-License-Identifier: Apache-2.0
-- From what users submit to what was measured. All times are by this database's clock.
--
-- Lock order everywhere, ascending ids within a level: sessions, sweeps, strands, trials, studies.
--   sessions  KEY SHARE by claims; FOR UPDATE by hello and whoever ends one; NO KEY UPDATE by lease renewals, by the
--             release of ended ones, and by flushes that count failures before the first step. So a renewal waits for
--             no claim, and for no other flush.
--   sweeps    NO KEY UPDATE by claims, which write pass and running, by cancelling in slices, and, where max_running is
--             set, by flushes and releases that end attempts; KEY SHARE by flushes that may add trials to others;
--             FOR UPDATE by pause, resume, cancel and the end of the sweep.
--   strands   FOR UPDATE by whoever moves one of their trials, since they carry the counts.
--   trials    A flush reads them without a lock, writes points, locks the above for attempts that end, and locks its
--             trials by the one UPDATE, which tests that each stands as it was read; else the flush starts over.
--   studies   By the update of results_version, last.

-- One row: whether the servers had the database long enough for leases to mean anything.
CREATE TABLE service (
  only_row        boolean     PRIMARY KEY DEFAULT true,
  seen_at         timestamptz NOT NULL DEFAULT now(),
  available_since timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT service_has_one_row CHECK (only_row)
);
INSERT INTO service DEFAULT VALUES;

-- One registration of a worker process. The lease lives here, not on the trials. Ending is one-way.
CREATE TABLE sessions (
  id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream         bigint      NOT NULL DEFAULT 0,      -- raised by every hello; a claim must present it
  expires_at     timestamptz NOT NULL,
  ended_at       timestamptz,
  start_time     timestamptz NOT NULL DEFAULT now(),
  early_failures integer     NOT NULL DEFAULT 0,      -- failures before the first step, in a row
  draining       boolean     NOT NULL DEFAULT false,
  released       boolean     NOT NULL DEFAULT false,  -- ended, and what it held has been requeued
  key            text        NOT NULL,                -- the 128 random bits, in hex
  worker_name    text        NOT NULL,
  build          text        NOT NULL,
  server_name    text        NOT NULL,                -- that holds the stream, or held it last
  slot_classes   jsonb       NOT NULL,
  can_run        jsonb       NOT NULL,
  versions       text[]      NOT NULL DEFAULT '{}',   -- of libraries, as in torch 1.13.1
  sweeps         bigint[],                            -- works for these only; NULL: all
  end_reason     text,
  CONSTRAINT session_key_is_unique UNIQUE (key),
  CONSTRAINT session_key_is_hex CHECK (key ~ '^[0-9a-f]{32}$'),
  CONSTRAINT ended_session_says_why CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
  CONSTRAINT released_after_end CHECK (NOT released OR ended_at IS NOT NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
-- Serves ListWorkers and the reaper: sessions that live.
CREATE INDEX sessions_live ON sessions (id) WHERE ended_at IS NULL;
-- Serves the reaper: ended sessions whose trials are still out.
CREATE INDEX sessions_to_release ON sessions (id) WHERE ended_at IS NOT NULL AND NOT released;
-- Serves ListWorkers: recently lost.
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;

CREATE TYPE sweep_state AS ENUM ('active', 'paused', 'done', 'cancelled');
CREATE TYPE curve_semantics AS ENUM ('published', 'reached');

-- What users submit.
CREATE TABLE sweeps (
  id             bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  parent_id      bigint           REFERENCES sweeps,     -- a child answers only through its parent, or by name
  version        bigint           NOT NULL DEFAULT 1,    -- the etag
  pass           double precision NOT NULL DEFAULT 0,    -- grants so far, levelled at activation: least is served
  running        bigint           NOT NULL DEFAULT 0,    -- kept only where max_running is set
  max_running    bigint,
  create_time    timestamptz      NOT NULL DEFAULT now(),
  end_time       timestamptz,
  deleted_at     timestamptz,
  priority       integer          NOT NULL DEFAULT 0,
  state          sweep_state      NOT NULL DEFAULT 'active',
  semantics      curve_semantics  NOT NULL,              -- of curves on this sweep unless they say otherwise
  cancel_pending boolean          NOT NULL DEFAULT false, -- cancelled, rows still to be turned
  origin         text             NOT NULL DEFAULT 'run',
  name           text             NOT NULL,
  request_id     text             NOT NULL,
  spec_digest    text             NOT NULL,              -- of the canonical text of the parsed spec
  creator        text             NOT NULL DEFAULT '',
  description    text             NOT NULL DEFAULT '',
  tags           text[]           NOT NULL DEFAULT '{}',
  goals          text[]           NOT NULL DEFAULT '{}',
  spec           bytea            NOT NULL,              -- the SweepSpec message as submitted
  spec_json      jsonb            NOT NULL,              -- the same for people with a SQL client
  resolved       text             NOT NULL,              -- YAML of every distinct study
  CONSTRAINT sweep_name_is_unique UNIQUE (name),
  CONSTRAINT request_creates_one_sweep UNIQUE (request_id),
  CONSTRAINT sweep_name_is_plain CHECK (name ~ '^[a-z][a-z0-9._-]{0,62}$'),
  CONSTRAINT priority_in_range CHECK (priority BETWEEN -1000 AND 1000),
  CONSTRAINT max_running_is_positive CHECK (max_running > 0),
  CONSTRAINT running_is_a_count CHECK (running >= 0),
  CONSTRAINT only_cancelled_sweeps_are_turned CHECK (state = 'cancelled' OR NOT cancel_pending),
  CONSTRAINT origin_is_known CHECK (origin IN ('run', 'import')),
  CONSTRAINT ended_sweep_has_a_time CHECK ((state IN ('done', 'cancelled')) = (end_time IS NOT NULL))
) WITH (fillfactor = 50);
-- Serves claims and the janitor: sweeps that can still move.
CREATE INDEX sweeps_open ON sweeps (id) WHERE state IN ('active', 'paused');
-- Serves the janitor: cancelled sweeps whose rows are still to be turned.
CREATE INDEX sweeps_to_cancel ON sweeps (id) WHERE cancel_pending;
-- Serves ListSweeps by tag.
CREATE INDEX sweeps_of_tag ON sweeps USING gin (tags);

-- Data set, model, optimizer and the options that differ from the catalogue's defaults.
CREATE TABLE workloads (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  archive_group text   NOT NULL DEFAULT '',   -- prefix of an imported archive
  dataset       text   NOT NULL,
  model         text   NOT NULL,
  optimizer     text   NOT NULL,
  variant       text   NOT NULL DEFAULT '',
  address       text   NOT NULL,              -- [group/]dataset/model/optimizer[@variant]
  identity      text   NOT NULL,              -- canonical content
  fingerprint   text,                         -- of the data, fixed by the first grant unless the catalogue knows it
  CONSTRAINT workload_is_its_content UNIQUE (identity),
  CONSTRAINT workload_address_is_unique UNIQUE (address)
);

-- One metaparameter search for one workload at one batch size.
CREATE TABLE studies (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sweep_id        bigint NOT NULL REFERENCES sweeps,
  workload_id     bigint NOT NULL REFERENCES workloads,
  batch_size      bigint NOT NULL,
  budget_steps    bigint,                    -- NULL: imported, unknown
  results_version bigint NOT NULL DEFAULT 0, -- rises whenever an ended trial changes what a curve may say
  metrics         text[] NOT NULL,           -- order of values in chunks and records
  parameters      text[] NOT NULL,           -- order of trials.parameters
  space_hash      text   NOT NULL,
  definition      jsonb  NOT NULL,           -- all that is resolved and never changes: space, sampler, grid, goals, needs
  CONSTRAINT study_per_batch_size UNIQUE (sweep_id, workload_id, batch_size),
  CONSTRAINT batch_size_is_positive CHECK (batch_size > 0),
  CONSTRAINT budget_is_positive CHECK (budget_steps > 0)
) WITH (fillfactor = 50);
-- Serves curves: the studies of a workload.
CREATE INDEX studies_of_workload ON studies (workload_id, batch_size, id);

-- A study's sequence of points for one split value; one where nothing is split. Carries the counts of its
-- trials and the hand-out cursor: trials are granted in order of position, so that no hand-out searches.
CREATE TABLE strands (
  id          bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  study_id    bigint  NOT NULL REFERENCES studies,
  wanted      bigint  NOT NULL,             -- trials
  max_trials  bigint  NOT NULL,
  created     bigint  NOT NULL DEFAULT 0,   -- positions 0 to created - 1 exist
  granted     bigint  NOT NULL DEFAULT 0,   -- positions below have been handed out once, or cancelled
  grants      bigint  NOT NULL DEFAULT 0,   -- all grants, for fairness between batch sizes
  queued      bigint  NOT NULL DEFAULT 0,
  running     bigint  NOT NULL DEFAULT 0,
  complete    bigint  NOT NULL DEFAULT 0,
  infeasible  bigint  NOT NULL DEFAULT 0,
  stopped     bigint  NOT NULL DEFAULT 0,
  failed      bigint  NOT NULL DEFAULT 0,
  cancelled   bigint  NOT NULL DEFAULT 0,
  split_value double precision,
  bounds      jsonb   NOT NULL DEFAULT '[]', -- per goal the keep best (step, number) of ended trials
  CONSTRAINT cap_covers_wanted CHECK (max_trials >= wanted AND wanted > 0),
  CONSTRAINT created_within_cap CHECK (created BETWEEN 0 AND max_trials),
  CONSTRAINT granted_within_created CHECK (granted BETWEEN 0 AND created),
  CONSTRAINT counts_are_counts CHECK (least(queued, running, complete, infeasible, stopped, failed, cancelled) >= 0),
  CONSTRAINT counts_add_up CHECK (queued + running + complete + infeasible + stopped + failed + cancelled = created)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
-- Serves claims, progress and curves.
CREATE INDEX strands_of_study ON strands (study_id, id);

CREATE TYPE trial_state AS ENUM
  ('queued', 'running', 'complete', 'infeasible', 'stopped', 'failed', 'cancelled');
CREATE TYPE end_reason AS ENUM
  ('budget', 'diverged', 'exact_stop', 'goals_reached', 'error', 'lost_too_often', 'cancelled', 'imported');

-- One training run: what it is, where it stands, how it ended. Inserted in hand-out order, so that claims
-- touch neighbouring pages. No index holds a column that changes, and pages are half free: every later update is HOT.
CREATE TABLE trials (
  id              bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  study_id        bigint      NOT NULL,
  strand_id       bigint      NOT NULL,
  number          bigint      NOT NULL,             -- of the point within its study, from 1
  position        bigint      NOT NULL,             -- within the strand, from 0
  training_seed   bigint      NOT NULL,             -- 64 bits, reinterpreted
  attempt         bigint      NOT NULL DEFAULT 0,   -- fences; raised by every grant
  session_id      bigint,                           -- holder
  base_step       bigint,                           -- of the current attempt; NULL until it has started
  last_step       bigint      NOT NULL DEFAULT -1,  -- last measurement stored that still counts
  end_step        bigint,                           -- diverged: first non-finite step
  stop_step       bigint,                           -- exact stopping: the bound, and the number that set it
  stop_witness    bigint,
  grant_time      timestamptz,
  end_time        timestamptz,
  train_seconds   double precision NOT NULL DEFAULT 0,
  eval_seconds    double precision NOT NULL DEFAULT 0,
  repeat          integer     NOT NULL DEFAULT 0,
  crashes         integer     NOT NULL DEFAULT 0,   -- deaths and errors of its own process
  losses          integer     NOT NULL DEFAULT 0,   -- started attempts whose session was lost
  slot_class      integer,                          -- holder's, by index into its session's slot classes
  stop_goal       smallint,
  state           trial_state NOT NULL DEFAULT 'queued',
  end_reason      end_reason,
  imported        boolean     NOT NULL DEFAULT false,
  parameters      double precision[] NOT NULL,      -- order of studies.parameters
  coordinates     double precision[],               -- as drawn; NULL where nothing is multiplied
  goal_steps      bigint[],                         -- first crossing of each declared goal
  worker_name     text,                             -- holder, or the last one
  error           text,
  excluded_reason text,
  CONSTRAINT number_per_study UNIQUE (study_id, number, repeat),
  CONSTRAINT position_per_strand UNIQUE (strand_id, position),
  CONSTRAINT held_iff_running CHECK ((state = 'running') = (session_id IS NOT NULL)),
  CONSTRAINT slot_class_is_the_holders CHECK (slot_class IS NULL OR session_id IS NOT NULL),
  CONSTRAINT ended_iff_terminal CHECK ((state IN ('queued', 'running')) = (end_time IS NULL)),
  CONSTRAINT ending_has_a_reason CHECK ((end_time IS NULL) = (end_reason IS NULL)),
  CONSTRAINT reason_fits_state CHECK (
    CASE end_reason
      WHEN 'budget' THEN state = 'complete'
      WHEN 'diverged' THEN state = 'infeasible'
      WHEN 'exact_stop' THEN state = 'stopped'
      WHEN 'goals_reached' THEN state = 'stopped'
      WHEN 'error' THEN state = 'failed'
      WHEN 'lost_too_often' THEN state = 'failed'
      WHEN 'cancelled' THEN state = 'cancelled'
      WHEN 'imported' THEN imported
    END),
  CONSTRAINT diverged_has_its_step CHECK (coalesce(end_reason = 'diverged', false) = (end_step IS NOT NULL)),
  CONSTRAINT only_granted_trials_end_by_themselves
    CHECK (attempt > 0 OR imported OR state IN ('queued', 'stopped', 'cancelled'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_cost_delay = 0);

-- Trials that have come back, served before the strand's cursor. A row exists iff its trial is queued again.
CREATE TABLE requeued (
  trial_id  bigint      PRIMARY KEY,
  strand_id bigint      NOT NULL,
  at        timestamptz NOT NULL DEFAULT now(),
  avoid     bigint                              -- session that crashed it: not again while another could
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- Serves claims: oldest first.
CREATE INDEX requeued_of_strand ON requeued (strand_id, at, trial_id);

-- What was granted to whom, one row per claim and session; rewritten by hello, dropped with the session.
CREATE TABLE grants (
  session_id bigint   NOT NULL,
  trial_ids  bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
-- Serves hello and the release of ended sessions.
CREATE INDEX grants_of_session ON grants (session_id);

-- Attempts that have ended, and who ran them.
CREATE TABLE past_attempts (
  trial_id    bigint      NOT NULL,
  attempt     bigint      NOT NULL,
  session_id  bigint      NOT NULL,
  base_step   bigint,                 -- NULL: never started
  last_step   bigint      NOT NULL,
  start_time  timestamptz NOT NULL,
  end_time    timestamptz NOT NULL DEFAULT now(),
  slot_class  integer,                -- index into the session's slot classes; NULL: not known
  outcome     text        NOT NULL,
  error       text,
  log_tail    bytea,
  CONSTRAINT past_attempts_pkey PRIMARY KEY (trial_id, attempt),
  CONSTRAINT outcome_is_known
    CHECK (outcome IN ('complete', 'diverged', 'stopped', 'error', 'lost', 'released', 'cancelled'))
);

-- Measurements, append only: up to 1,024 points of one attempt a row. No foreign key: written at the full
-- rate of ingest, deleted by trial id.
CREATE TABLE chunks (
  trial_id      bigint             NOT NULL,
  attempt       bigint             NOT NULL,
  first_step    bigint             NOT NULL,
  last_step     bigint             NOT NULL,
  train_seconds double precision   NOT NULL,   -- of the attempt, up to last_step
  eval_seconds  double precision   NOT NULL,
  steps         bigint[]           NOT NULL,   -- strictly ascending
  "values"      double precision[] NOT NULL,   -- metric by metric in the study's order, cardinality(steps) each
  CONSTRAINT chunks_pkey PRIMARY KEY (trial_id, attempt, first_step),
  CONSTRAINT chunk_is_bounded CHECK (cardinality(steps) BETWEEN 1 AND 1024),
  CONSTRAINT chunk_is_full CHECK (cardinality("values") % cardinality(steps) = 0 AND cardinality("values") > 0),
  -- Not every step is looked at: chunks come at the full rate of ingest.
  CONSTRAINT chunk_is_ordered CHECK (last_step - first_step >= cardinality(steps) - 1),
  CONSTRAINT chunk_ends_are_its_steps CHECK (first_step = steps[1] AND last_step = steps[cardinality(steps)])
) WITH (fillfactor = 100, toast_tuple_target = 8160,
        autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
ALTER TABLE chunks ALTER steps SET STORAGE EXTERNAL, ALTER "values" SET STORAGE EXTERNAL;

-- Running bests of one trial, written once, by the transaction that ends it; empty where nothing was finite. Two
-- staircases per metric: falling (each value below all before) and rising (each above all before).
CREATE TABLE records (
  trial_id bigint             NOT NULL,
  study_id bigint             NOT NULL,
  number   bigint             NOT NULL,
  kind     smallint           NOT NULL DEFAULT 0,   -- 0: first crossings
  offsets  integer[]          NOT NULL,             -- staircase k owns entries offsets[k] + 1 .. offsets[k + 1]; order: metric 1 falling, metric 1 rising, ...
  steps    bigint[]           NOT NULL,
  "values" double precision[] NOT NULL,
  CONSTRAINT records_pkey PRIMARY KEY (trial_id, kind),
  CONSTRAINT records_are_pairs CHECK (cardinality(steps) = cardinality("values"))
) WITH (fillfactor = 100, toast_tuple_target = 8160,
        autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.1);
ALTER TABLE records ALTER steps SET STORAGE EXTERNAL, ALTER "values" SET STORAGE EXTERNAL;

-- Best so far over a study's pooled trials, per selection, metric and direction: the first entry past a goal is the
-- answer for that goal. Layer k holds the k-th best. A cache: rebuilt when results_version is old.
CREATE TABLE envelopes (
  study_id        bigint             NOT NULL,
  results_version bigint             NOT NULL,
  layer           smallint           NOT NULL,
  rising          boolean            NOT NULL,
  metric          text               NOT NULL,
  selection       text               NOT NULL,
  steps           bigint[]           NOT NULL,
  "values"        double precision[] NOT NULL,
  trials          bigint[]           NOT NULL,
  numbers         bigint[]           NOT NULL,
  CONSTRAINT envelopes_pkey PRIMARY KEY (study_id, selection, metric, rising, layer)
);

-- For people with a SQL client: one row a value. Study and trial are ids, as the API tells them.
CREATE VIEW measurements AS
SELECT w.name AS sweep, c.study_id AS study, l.address AS workload, c.batch_size, t.number, t.repeat, t.id AS trial,
       c.attempt, p.step, c.metrics[m.index] AS metric, p.value,
       p.step <= coalesce(c.base_step, -1) OR p.step > coalesce(c.superseded_after, 9223372036854775807) AS superseded
  FROM (
    SELECT k.*, s.batch_size, s.metrics, s.sweep_id, s.workload_id, s.id AS study_id,
           (SELECT a.base_step FROM past_attempts a WHERE a.trial_id = k.trial_id AND a.attempt = k.attempt) AS base_step,
           least((SELECT min(a.base_step) FROM past_attempts a WHERE a.trial_id = k.trial_id AND a.attempt > k.attempt),
                 (SELECT t.base_step FROM trials t WHERE t.id = k.trial_id AND t.attempt > k.attempt)) AS superseded_after
      FROM chunks k JOIN trials x ON x.id = k.trial_id JOIN studies s ON s.id = x.study_id) c
  JOIN trials t ON t.id = c.trial_id
  JOIN sweeps w ON w.id = c.sweep_id
  JOIN workloads l ON l.id = c.workload_id
 CROSS JOIN LATERAL generate_series(1, cardinality(c.metrics)) AS m(index)
 CROSS JOIN LATERAL unnest(c.steps,
                           c."values"[(m.index - 1) * cardinality(c.steps) + 1 : m.index * cardinality(c.steps)]) AS p(step, value);
