-- The data model of the first release. Rules for every table:
--  * The primary key of a tenant table begins with team_id, and foreign keys carry it, so a row
--    cannot point into another team.
--  * Ids come from the service. Timestamps are timestamptz(3): cursors pass through milliseconds.
--  * Invariants are constraints here, not only checks in the code.
--  * Foreign keys do not cascade, except to parts of their parent.
--  * Each foreign key has an index that begins with its columns. Without one, Postgres looks for
--    the children of each deleted row among all entries of the team.

-- Later migrations that create a table with rows of one team call this after CREATE TABLE and add
-- foreign keys afterwards. On a distributed database (Citus) it distributes the table beside the
-- team's others. On plain Postgres it does nothing.
CREATE FUNCTION "distribute_by_team"(p_table regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN RETURN; END IF;
  PERFORM
  FROM "pg_dist_partition"
  WHERE "logicalrelid" = to_regclass('team');
  IF FOUND THEN
    PERFORM create_distributed_table(p_table, 'team_id', colocate_with => 'team');
  END IF;
END
$$;

-- Teams and people ------------------------------------------------------------------------------

CREATE TABLE "team" (
  "id" text NOT NULL PRIMARY KEY,
  "name" text NOT NULL,
  "plan" text NOT NULL DEFAULT 'team',
  "status" text NOT NULL DEFAULT 'active',
  "seats" integer NOT NULL DEFAULT 25,
  "rate_limit_per_min" integer NOT NULL DEFAULT 600,
  "language" text NOT NULL DEFAULT 'de',
  "member_detail_enabled" boolean NOT NULL DEFAULT true,
  "leaderboard_enabled" boolean NOT NULL DEFAULT true,
  -- true: every global catalog entry is released to the team; false: only those of
  -- catalog_release.
  "all_released" boolean NOT NULL DEFAULT true,
  "created_at" timestamptz(3) NOT NULL,
  -- SHA-256 over the input of the creation: tells a repeated creation from another one. Null: the
  -- platform did not create the team.
  "creation_hash" bytea,
  -- When the host application asked for the erasure of the team. From then on the team is unknown
  -- to every caller, and a job removes its rows. Only an ended team is erased.
  "erasing_since" timestamptz(3),
  CONSTRAINT "team_id_check" CHECK ("id" <> ''),
  CONSTRAINT "team_plan_check" CHECK ("plan" IN ('starter', 'team', 'enterprise')),
  CONSTRAINT "team_status_check" CHECK ("status" IN ('active', 'suspended', 'ended')),
  CONSTRAINT "team_seats_check" CHECK ("seats" >= 0),
  CONSTRAINT "team_rate_limit_check" CHECK ("rate_limit_per_min" > 0),
  CONSTRAINT "team_language_check" CHECK ("language" IN ('de', 'en')),
  CONSTRAINT "team_creation_hash_check" CHECK (octet_length("creation_hash") = 32),
  CONSTRAINT "team_erasing_check" CHECK ("erasing_since" IS NULL OR "status" = 'ended')
);
CREATE INDEX "team_erasing_idx" ON "team" ("erasing_since") WHERE "erasing_since" IS NOT NULL;

-- A person in one team. Trainings, cases and deals refer to it. It outlives the membership.
CREATE TABLE "person" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "person_id_check" CHECK ("id" <> ''),
  CONSTRAINT "person_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE TABLE "member" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "user_id" text,
  "email" text,
  "role" text NOT NULL,
  "status" text NOT NULL,
  -- The language of mails to this person; null: the team's.
  "language" text,
  "rights" text[] NOT NULL DEFAULT '{}',
  "joined_at" timestamptz(3),
  "created_at" timestamptz(3) NOT NULL,
  -- Set when the membership began by an invitation; the hourly limit counts these.
  "invited_at" timestamptz(3),
  "ended_at" timestamptz(3),
  -- When the invitation was last mailed. An open invitation expires some time after that, so its
  -- address does not stay for ever. Null: a seed file has loaded it, and it does not expire.
  "invitation_sent_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "member_id_check" CHECK ("id" <> ''),
  CONSTRAINT "member_role_check" CHECK ("role" IN ('owner', 'admin', 'member')),
  CONSTRAINT "member_status_check" CHECK ("status" IN ('active', 'invited', 'ended')),
  CONSTRAINT "member_language_check" CHECK ("language" IN ('de', 'en')),
  CONSTRAINT "member_email_check" CHECK ("email" = btrim("email") AND "email" <> ''),
  CONSTRAINT "member_active_has_user_check" CHECK ("status" <> 'active' OR "user_id" IS NOT NULL),
  CONSTRAINT "member_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "member_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id")
    REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "member_live_has_email_check" CHECK ("status" = 'ended' OR "email" IS NOT NULL)
);
CREATE INDEX "member_list_idx"
  ON "member" ("team_id", "created_at" DESC, "id" DESC)
  WHERE "status" <> 'ended';
CREATE INDEX "member_invited_at_idx"
  ON "member" ("team_id", "invited_at")
  WHERE "invited_at" IS NOT NULL;
CREATE UNIQUE INDEX "member_live_email_key"
  ON "member" ("team_id", (lower("email" COLLATE "und-x-icu") COLLATE "C"))
  WHERE "status" <> 'ended';
CREATE UNIQUE INDEX "member_live_user_id_key"
  ON "member" ("team_id", "user_id")
  WHERE "status" <> 'ended';
CREATE UNIQUE INDEX "member_one_owner_key"
  ON "member" ("team_id")
  WHERE "role" = 'owner' AND "status" <> 'ended';
CREATE INDEX "member_user_id_idx" ON "member" ("team_id", "user_id");
CREATE INDEX "member_open_invitation_idx"
  ON "member" ("invitation_sent_at")
  WHERE "status" = 'invited';
-- Sorted by joining. An invited member sorts as if it joined last. A change of the role writes no
-- entry.
CREATE INDEX "member_joined_idx"
  ON "member" (
    "team_id", (coalesce("joined_at", timestamptz '9999-12-31 00:00:00+00')) DESC, "id" DESC
  )
  WHERE "status" <> 'ended';
-- The owner and the few admins. All other members follow in the order of the list. The order by
-- address uses member_live_email_key.
CREATE INDEX "member_admin_idx"
  ON "member" ("team_id", "role" DESC, "created_at" DESC, "id" DESC)
  WHERE "role" <> 'member' AND "status" <> 'ended';

-- Catalog, releases, rules, policies ------------------------------------------------------------

CREATE TABLE "catalog_entry" (
  "id" text NOT NULL PRIMARY KEY,
  "kind" text NOT NULL,
  "name_de" text,
  "name_en" text,
  "icon" text,
  CONSTRAINT "catalog_entry_id_check" CHECK ("id" <> ''),
  CONSTRAINT "catalog_entry_kind_check"
    CHECK ("kind" IN ('situation', 'personality', 'industry', 'role', 'methodology'))
);

-- A team's own entries. One with the id of a global entry replaces it.
CREATE TABLE "team_catalog_entry" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "kind" text NOT NULL,
  "name_de" text,
  "name_en" text,
  "icon" text,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "team_catalog_entry_id_check" CHECK ("id" <> ''),
  CONSTRAINT "team_catalog_entry_kind_check"
    CHECK ("kind" IN ('situation', 'personality', 'industry', 'role', 'methodology')),
  CONSTRAINT "team_catalog_entry_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE TABLE "catalog_release" (
  "team_id" text NOT NULL,
  "entry_id" text NOT NULL,
  PRIMARY KEY ("team_id", "entry_id"),
  CONSTRAINT "catalog_release_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "catalog_release_entry_id_fkey" FOREIGN KEY ("entry_id")
    REFERENCES "catalog_entry" ("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "catalog_release_entry_id_idx" ON "catalog_release" ("entry_id");

-- A forbidden combination: two or three of the columns are set.
CREATE TABLE "catalog_rule" (
  "id" text NOT NULL PRIMARY KEY,
  "situation_id" text,
  "personality_id" text,
  "industry_id" text,
  CONSTRAINT "catalog_rule_two_of_three_check"
    CHECK (num_nonnulls("situation_id", "personality_id", "industry_id") >= 2)
);
CREATE UNIQUE INDEX "catalog_rule_combination_key"
  ON "catalog_rule" ("situation_id", "personality_id", "industry_id") NULLS NOT DISTINCT;
-- Forbidden in sandboxes. Rules apply to all teams, so this one names entries that only sandboxes
-- have (src/features/sandbox/scenario.ts).
INSERT INTO "catalog_rule" ("id", "situation_id", "personality_id")
VALUES ('rule_sandbox', 'sit_sandbox_complaint', 'per_sandbox_hurried');

-- Policies are lists of blocked entries: the team's, and in addition a member's own.
CREATE TABLE "team_block" (
  "team_id" text NOT NULL,
  "entry_id" text NOT NULL,
  PRIMARY KEY ("team_id", "entry_id"),
  CONSTRAINT "team_block_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE TABLE "member_block" (
  "team_id" text NOT NULL,
  "member_id" text NOT NULL,
  "entry_id" text NOT NULL,
  PRIMARY KEY ("team_id", "member_id", "entry_id"),
  CONSTRAINT "member_block_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id")
    REFERENCES "member" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);

-- Assignments, trainings, evaluations, cases ----------------------------------------------------

CREATE TABLE "assignment" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "member_id" text NOT NULL,
  "status" text NOT NULL DEFAULT 'open',
  "title" text,
  "situation_id" text,
  "personality_id" text,
  "industry_id" text,
  "note" text,
  "due_date" date,
  "focus_dimension" text,
  "completed_training_id" text,
  "created_at" timestamptz(3) NOT NULL,
  -- The reference of the customer's own system.
  "external_ref" json,
  -- Null: not changed since the creation.
  "updated_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "assignment_id_check" CHECK ("id" <> ''),
  CONSTRAINT "assignment_status_check" CHECK ("status" IN ('open', 'done', 'revoked')),
  CONSTRAINT "assignment_title_check" CHECK (char_length("title") BETWEEN 1 AND 120),
  CONSTRAINT "assignment_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "assignment_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id")
    REFERENCES "member" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "assignment_external_ref_check" CHECK (json_typeof("external_ref") = 'object')
);
CREATE INDEX "assignment_list_idx" ON "assignment" ("team_id", "created_at" DESC, "id" DESC);
-- Partial: a new assignment has no completed training and writes no entry.
CREATE INDEX "assignment_completion_idx"
  ON "assignment" ("team_id", "completed_training_id")
  WHERE "completed_training_id" IS NOT NULL;
-- Sorted by the last change.
CREATE INDEX "assignment_change_idx"
  ON "assignment" ("team_id", (coalesce("updated_at", "created_at")) DESC, "id" DESC);
-- Finds the id of the customer's own system. A longer one would not fit into an index; the service
-- rejects it.
CREATE INDEX "assignment_external_id_idx"
  ON "assignment" ("team_id", ("external_ref" ->> 'id'), "created_at" DESC, "id" DESC)
  WHERE length("external_ref" ->> 'id') <= 200;
-- The assignments of one member, each status in the order of the list.
CREATE INDEX "assignment_member_list_idx"
  ON "assignment" ("team_id", "member_id", "status", "created_at" DESC, "id" DESC);

CREATE TABLE "training" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "user_id" text NOT NULL,
  "status" text NOT NULL,
  "source" text NOT NULL DEFAULT 'app',
  "assignment_id" text,
  "created_at" timestamptz(3) NOT NULL,
  "finished_at" timestamptz(3),
  "duration_s" integer,
  "external_ref" json,
  "situation_id" text,
  "personality_id" text,
  "industry_id" text,
  "role_id" text,
  -- The size of external_ref. A page of a list ends before it is too large without reading the
  -- JSON. Null: there is none.
  "json_bytes" integer,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "training_id_check" CHECK ("id" <> ''),
  -- The specification leaves the set of states open, so only their form is fixed.
  CONSTRAINT "training_status_check" CHECK ("status" ~ '^[a-z][a-z_]{0,39}$'),
  CONSTRAINT "training_source_check" CHECK ("source" ~ '^[a-z][a-z_]{0,39}$'),
  CONSTRAINT "training_duration_check" CHECK ("duration_s" >= 0),
  CONSTRAINT "training_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id")
    REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "training_team_id_assignment_id_fkey" FOREIGN KEY ("team_id", "assignment_id")
    REFERENCES "assignment" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "training_list_idx" ON "training" ("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "training_user_idx" ON "training" ("team_id", "user_id", "created_at" DESC, "id" DESC);
CREATE INDEX "training_status_idx"
  ON "training" ("team_id", "status", "created_at" DESC, "id" DESC);
CREATE INDEX "training_assignment_idx"
  ON "training" ("team_id", "assignment_id", "created_at" DESC, "id" DESC)
  WHERE "assignment_id" IS NOT NULL;
-- The trainings of one person with one status are one range of the index.
CREATE INDEX "training_user_status_idx"
  ON "training" ("team_id", "user_id", "status", "created_at" DESC, "id" DESC);

-- Deferred: a training and the assignment that it completes refer to each other.
ALTER TABLE "assignment"
  ADD CONSTRAINT "assignment_team_id_completed_training_id_fkey"
  FOREIGN KEY ("team_id", "completed_training_id")
  REFERENCES "training" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
  DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE "evaluation" (
  "team_id" text NOT NULL,
  "training_id" text NOT NULL,
  "saved_at" timestamptz(3) NOT NULL,
  "total" integer,
  "spread" double precision,
  -- dimension name → integer
  "dimensions" jsonb NOT NULL DEFAULT '{}',
  "tips" jsonb NOT NULL DEFAULT '[]',
  "goal" text,
  "methodology" text,
  "strongest" text,
  "biggest_lever" text,
  -- The person of the training, which never changes. It is here for the index of one person's
  -- evaluations in the order of the list.
  "user_id" text NOT NULL,
  -- When this database stored the evaluation, by its own clock. An evaluation may arrive long after
  -- its saved_at; callers that poll for new evaluations need this time.
  "stored_at" timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY ("team_id", "training_id"),
  CONSTRAINT "evaluation_dimensions_check" CHECK (jsonb_typeof("dimensions") = 'object'),
  CONSTRAINT "evaluation_tips_check"
    CHECK (jsonb_typeof("tips") = 'array' AND jsonb_array_length("tips") <= 5),
  CONSTRAINT "evaluation_team_id_training_id_fkey" FOREIGN KEY ("team_id", "training_id")
    REFERENCES "training" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "evaluation_list_idx"
  ON "evaluation" ("team_id", "stored_at" DESC, "training_id" DESC);
CREATE INDEX "evaluation_user_idx"
  ON "evaluation" ("team_id", "user_id", "stored_at" DESC, "training_id" DESC);

-- "case" is a reserved word.
CREATE TABLE "training_case" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "user_id" text NOT NULL,
  "title" text,
  "persona_id" text,
  "fields" json,
  "external_ref" json,
  "private" boolean NOT NULL DEFAULT false,
  "created_at" timestamptz(3) NOT NULL,
  -- The size of fields and external_ref (see training).
  "json_bytes" integer NOT NULL DEFAULT 0,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "training_case_id_check" CHECK ("id" <> ''),
  CONSTRAINT "training_case_fields_check" CHECK (json_typeof("fields") IN ('object', 'array')),
  CONSTRAINT "training_case_external_ref_check" CHECK (json_typeof("external_ref") = 'object'),
  CONSTRAINT "training_case_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id")
    REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "training_case_list_idx"
  ON "training_case" ("team_id", "created_at" DESC, "id" DESC)
  WHERE NOT "private";
CREATE INDEX "training_case_user_idx"
  ON "training_case" ("team_id", "user_id", "created_at" DESC, "id" DESC)
  WHERE NOT "private";
CREATE INDEX "training_case_person_idx" ON "training_case" ("team_id", "user_id");

-- Analytics rollups, kept in the transaction that saves an evaluation ---------------------------

-- Totals of one person since the beginning. The dimensions are those of src/core/dimensions.ts.
CREATE TABLE "analytics_person" (
  "team_id" text NOT NULL,
  "user_id" text NOT NULL,
  "sessions" integer NOT NULL DEFAULT 0,
  "scored" integer NOT NULL DEFAULT 0,
  "total_sum" bigint NOT NULL DEFAULT 0,
  "total_count" integer NOT NULL DEFAULT 0,
  "closing_sum" bigint NOT NULL DEFAULT 0,
  "closing_count" integer NOT NULL DEFAULT 0,
  "conversation_control_sum" bigint NOT NULL DEFAULT 0,
  "conversation_control_count" integer NOT NULL DEFAULT 0,
  "needs_analysis_sum" bigint NOT NULL DEFAULT 0,
  "needs_analysis_count" integer NOT NULL DEFAULT 0,
  "objection_handling_sum" bigint NOT NULL DEFAULT 0,
  "objection_handling_count" integer NOT NULL DEFAULT 0,
  "value_argument_sum" bigint NOT NULL DEFAULT 0,
  "value_argument_count" integer NOT NULL DEFAULT 0,
  PRIMARY KEY ("team_id", "user_id"),
  CONSTRAINT "analytics_person_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id")
    REFERENCES "person" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);

-- Scores of one person in one ISO week (Monday, UTC), also for each day: the trend reads weeks, the
-- 30-day windows read days. Columns, not arrays: a read visits thousands of rows, and taking a day
-- out of an array costs more than finding the row.
CREATE TABLE "analytics_person_week" (
  "team_id" text NOT NULL,
  "week" date NOT NULL,
  "user_id" text NOT NULL,
  "total_sum" integer NOT NULL,
  "total_count" integer NOT NULL,
  "day1_sum" integer NOT NULL,
  "day1_count" integer NOT NULL,
  "day2_sum" integer NOT NULL,
  "day2_count" integer NOT NULL,
  "day3_sum" integer NOT NULL,
  "day3_count" integer NOT NULL,
  "day4_sum" integer NOT NULL,
  "day4_count" integer NOT NULL,
  "day5_sum" integer NOT NULL,
  "day5_count" integer NOT NULL,
  "day6_sum" integer NOT NULL,
  "day6_count" integer NOT NULL,
  "day7_sum" integer NOT NULL,
  "day7_count" integer NOT NULL,
  PRIMARY KEY ("team_id", "week", "user_id"),
  CONSTRAINT "analytics_person_week_monday_check" CHECK (EXTRACT(isodow FROM "week") = 1),
  CONSTRAINT "analytics_person_week_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id")
    REFERENCES "person" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "analytics_person_week_user_idx" ON "analytics_person_week" ("team_id", "user_id");

-- CRM -------------------------------------------------------------------------------------------

-- A connection without credentials (seeded or disconnected) is never synchronized.
CREATE TABLE "crm_connection" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "provider" text NOT NULL,
  "status" text NOT NULL DEFAULT 'active',
  "created_at" timestamptz(3) NOT NULL,
  -- The access token, AES-256-GCM under APP_SECRET, bound to team and connection.
  "credentials_encrypted" bytea,
  -- Notes that begin with this text are objections. Null: notes are not read.
  "objection_marker" text,
  -- Replaces the provider's own address. Null in production.
  "base_url" text,
  -- The position of the synchronization (features/crm/rules.ts), opaque to SQL.
  "sync_state" jsonb,
  -- The run that holds the lease, and the end of the lease. Only that run applies a page.
  "sync_token" text,
  "sync_lease_until" timestamptz(3),
  -- Null: not to be synchronized.
  "next_sync_at" timestamptz(3),
  "last_synced_at" timestamptz(3),
  "last_error" text,
  -- Failed attempts since the last success.
  "failure_streak" integer NOT NULL DEFAULT 0,
  -- When a synchronization was requested during another one, which it follows. Null: none was.
  "sync_requested_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "crm_connection_id_check" CHECK ("id" <> ''),
  CONSTRAINT "crm_connection_status_check" CHECK ("status" IN ('active', 'paused', 'disconnected')),
  CONSTRAINT "crm_connection_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "crm_connection_failure_streak_check" CHECK ("failure_streak" >= 0),
  CONSTRAINT "crm_connection_provider_check" CHECK ("provider" ~ '^[a-z][a-z0-9_]{0,49}$')
);
CREATE INDEX "crm_connection_due_idx"
  ON "crm_connection" ("next_sync_at")
  WHERE "next_sync_at" IS NOT NULL;

CREATE TABLE "crm_deal" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "connection_id" text NOT NULL,
  "external_id" text NOT NULL,
  "outcome" text NOT NULL,
  "title" text,
  -- Decimal text, as the provider gave it: money never passes through a float.
  "amount" text,
  "currency" text,
  "close_date" text,
  "probability" integer,
  "pipeline_id" text,
  "stage_id" text,
  "industry_id" text,
  "lost_reason" text,
  "owner_user_id" text,
  "last_activity_at" timestamptz(3),
  "synced_at" timestamptz(3),
  "created_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "crm_deal_id_check" CHECK ("id" <> ''),
  CONSTRAINT "crm_deal_amount_check" CHECK ("amount" ~ '^-?[0-9]+(\.[0-9]+)?$'),
  CONSTRAINT "crm_deal_team_id_connection_id_fkey" FOREIGN KEY ("team_id", "connection_id")
    REFERENCES "crm_connection" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "crm_deal_team_id_owner_user_id_fkey" FOREIGN KEY ("team_id", "owner_user_id")
    REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "crm_deal_external_id_key"
  ON "crm_deal" ("team_id", "connection_id", "external_id");
CREATE INDEX "crm_deal_list_idx"
  ON "crm_deal" ("team_id", "connection_id", "created_at" DESC, "id" DESC);
CREATE INDEX "crm_deal_owner_idx"
  ON "crm_deal" ("team_id", "owner_user_id")
  WHERE "owner_user_id" IS NOT NULL;

CREATE TABLE "crm_objection" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "deal_id" text NOT NULL,
  "category" text NOT NULL,
  "text" text NOT NULL,
  "lang" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  -- The source in the CRM: `lost_reason`, or `note:` and the note's id. Null: entered by hand or by
  -- a seed; a synchronization never changes the row.
  "source" text,
  "synced_at" timestamptz(3),
  -- The connection of the deal, which never changes. It is here for the index of one connection's
  -- objections in the order of the list.
  "connection_id" text NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "crm_objection_id_check" CHECK ("id" <> ''),
  CONSTRAINT "crm_objection_team_id_deal_id_fkey" FOREIGN KEY ("team_id", "deal_id")
    REFERENCES "crm_deal" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "crm_objection_deal_idx" ON "crm_objection" ("team_id", "deal_id");
CREATE UNIQUE INDEX "crm_objection_source_key" ON "crm_objection" ("team_id", "source", "deal_id");
CREATE INDEX "crm_objection_list_idx"
  ON "crm_objection" ("team_id", "connection_id", "created_at" DESC, "id" DESC);

-- API keys, rate counters, idempotency ----------------------------------------------------------

CREATE TABLE "api_key" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "name" text NOT NULL,
  -- The public part of the key, by which a request finds it. key_directory keeps prefixes unique
  -- over all teams.
  "prefix" text NOT NULL,
  "secret_hash" bytea NOT NULL,
  "scopes" text[] NOT NULL,
  "created_by" text NOT NULL,
  -- Addresses or networks; null: from anywhere.
  "allowed_ips" inet[],
  "created_at" timestamptz(3) NOT NULL,
  "expires_at" timestamptz(3),
  "revoked_at" timestamptz(3),
  -- Logged, unlike the rate counters: the time of the last use survives a failover.
  "last_used_at" timestamptz(3),
  -- When a person confirmed that the secret is stored. Null: not confirmed; the secret may be lost.
  "stored_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "api_key_id_check" CHECK ("id" <> ''),
  CONSTRAINT "api_key_prefix_check" CHECK ("prefix" ~ '^[0-9A-Za-z]{8,32}$'),
  CONSTRAINT "api_key_secret_hash_check" CHECK (octet_length("secret_hash") = 32),
  CONSTRAINT "api_key_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "api_key_team_id_created_by_fkey" FOREIGN KEY ("team_id", "created_by")
    REFERENCES "member" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  -- The prefix of a test key begins with "t": a live key never opens a sandbox, and a test key
  -- never opens a live team.
  CONSTRAINT "api_key_mode_check" CHECK (("prefix" LIKE 't%') = ("team_id" LIKE '%:sandbox'))
);
CREATE UNIQUE INDEX "api_key_team_id_name_key" ON "api_key" ("team_id", "name");
CREATE INDEX "api_key_creator_idx" ON "api_key" ("team_id", "created_by");
-- A unique index of a distributed table contains the team.
CREATE UNIQUE INDEX "api_key_team_id_prefix_key" ON "api_key" ("team_id", "prefix");
-- Live keys that expire: few of a team, however many it had.
CREATE INDEX "api_key_ending_idx"
  ON "api_key" ("team_id", "expires_at", "id")
  WHERE "revoked_at" IS NULL AND "expires_at" IS NOT NULL;
-- The keys of a team by their end. Live keys are one range: few, however many the team had.
CREATE INDEX "api_key_end_idx"
  ON "api_key" ("team_id", (coalesce(least("revoked_at", "expires_at"), 'infinity')));
-- The list of keys, newest first.
CREATE INDEX "api_key_list_idx" ON "api_key" ("team_id", "created_at" DESC, "id" DESC);

-- Counters of callers' addresses and of used links, one row for each bucket, reset in place each
-- minute. Unlogged: after a crash the minute begins with zero.
CREATE UNLOGGED TABLE "rate_counter" (
  "bucket" text NOT NULL PRIMARY KEY,
  "minute" integer NOT NULL,
  "count" integer NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE "idempotency_record" (
  "team_id" text NOT NULL,
  "key" text NOT NULL,
  -- SHA-256 over method, path and canonical body, encrypted: a plain hash would let a reader of the
  -- table confirm an address.
  "fingerprint" bytea NOT NULL,
  "status" integer NOT NULL,
  -- The bytes of the response; encrypted if they contain a secret.
  "body" bytea NOT NULL,
  "encrypted" boolean NOT NULL,
  "location" text,
  "created_at" timestamptz(3) NOT NULL,
  -- The response without its private fields. Null: it has none.
  "open_body" bytea,
  -- The only API key that may read "body", because it contains a secret. Null: the privacy switches
  -- decide.
  "key_id" text,
  -- The member or webhook endpoint of the private fields. They are removed with it.
  "subject_id" text,
  -- More members of a batch. The private fields of all are removed with the first who leaves.
  "other_subject_ids" text[],
  -- true: a reset of the sandbox removes the rows that the call created, and this response.
  "removed_by_reset" boolean NOT NULL DEFAULT false,
  PRIMARY KEY ("team_id", "key"),
  CONSTRAINT "idempotency_record_key_check" CHECK (char_length("key") BETWEEN 1 AND 100),
  CONSTRAINT "idempotency_record_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "idempotency_record_private_check"
    CHECK (("open_body" IS NULL) = ("subject_id" IS NULL)),
  CONSTRAINT "idempotency_record_secret_check"
    CHECK ("encrypted" = ("key_id" IS NOT NULL) AND (NOT "encrypted" OR "open_body" IS NOT NULL))
);
CREATE INDEX "idempotency_record_created_at_idx" ON "idempotency_record" ("created_at");
CREATE INDEX "idempotency_record_subject_idx"
  ON "idempotency_record" ("team_id", "subject_id")
  WHERE "subject_id" IS NOT NULL;
-- Partial: few responses are about several members. Ids of members are random, so the index does
-- without the team.
CREATE INDEX "idempotency_record_others_idx"
  ON "idempotency_record" USING gin ("other_subject_ids")
  WHERE "other_subject_ids" IS NOT NULL;

-- Events, webhooks, audit -----------------------------------------------------------------------

-- The outbox. The privacy switches of that moment are already applied to "data".
CREATE TABLE "event" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "type" text NOT NULL,
  "data" json NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "fanned_out_at" timestamptz(3),
  -- true: old, but deliveries still wait, such as those of a paused endpoint. The hourly removal
  -- marks each such event once. Its index excludes marked events, so it does not read them again.
  "kept_for_deliveries" boolean NOT NULL DEFAULT false,
  -- The trace context of the call that raised the event. Null: the call was not traced.
  "traceparent" text,
  -- The position of the event in the order in which readers follow the events of the team. A worker
  -- assigns it after the commit. Null: not yet. The INSERT writes neither of the two indexes.
  "place" bigint,
  -- The request that raised the event. Null: a seed file has loaded it. No index: `npm run trace`
  -- finds the event of a request by the team and the time of the audit entry.
  "request_id" text,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "event_id_check" CHECK ("id" ~ '^evt_'),
  CONSTRAINT "event_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  -- src/core/events.ts declares the types. A new type needs no migration.
  CONSTRAINT "event_type_check" CHECK ("type" ~ '^[a-z_]+([.][a-z_]+)*$')
);
CREATE INDEX "event_waiting_idx" ON "event" ("created_at") WHERE "fanned_out_at" IS NULL;
CREATE INDEX "event_removable_idx"
  ON "event" ("created_at")
  WHERE "fanned_out_at" IS NOT NULL AND NOT "kept_for_deliveries";
-- The events of a team, newest first. A search for a rare type skips the others within the index.
CREATE INDEX "event_list_idx" ON "event" ("team_id", "created_at" DESC, "id" DESC, "type");
CREATE UNIQUE INDEX "event_place_idx" ON "event" ("team_id", "place") WHERE "place" IS NOT NULL;
-- Events of all teams without a position: those of the last half second.
CREATE INDEX "event_unplaced_idx"
  ON "event" ("created_at")
  WHERE "place" IS NULL AND "fanned_out_at" IS NOT NULL;

CREATE TABLE "webhook_endpoint" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "url" text NOT NULL,
  "events" text[] NOT NULL,
  "status" text NOT NULL DEFAULT 'active',
  "api_version" text NOT NULL,
  "description" text,
  "secret_encrypted" bytea NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "last_success_at" timestamptz(3),
  -- The first failed attempt after the last success: the begin of the three days.
  "failing_since" timestamptz(3),
  -- When the endpoint was last set to active. Workers then look for its waiting deliveries.
  "activated_at" timestamptz(3),
  -- For a while after a rotation, deliveries are also signed with earlier secrets. The encrypted
  -- text is a JSON list of these with their ends; the other column is the latest end.
  "earlier_secrets_encrypted" bytea,
  "earlier_secrets_until" timestamptz(3),
  -- The first failed attempt of each hour (UTC) since the last success, oldest first. Results are
  -- written in any order: a late success must leave the failures after it. The first is also
  -- failing_since, which has an index.
  "hourly_failures" timestamptz(3)[] NOT NULL DEFAULT '{}',
  -- When the present secret was shown to a person who has not confirmed that it is stored. Null: a
  -- person has confirmed it, or a program received it.
  "secret_unconfirmed_since" timestamptz(3),
  -- When the endpoint was last active before a pause. Events until then are still delivered,
  -- however late the fan-out is. Null: never paused.
  "paused_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "webhook_endpoint_id_check" CHECK ("id" <> ''),
  CONSTRAINT "webhook_endpoint_url_check" CHECK (char_length("url") <= 2048),
  CONSTRAINT "webhook_endpoint_status_check"
    CHECK ("status" IN ('active', 'disabled', 'disabled_failures')),
  CONSTRAINT "webhook_endpoint_api_version_check" CHECK ("api_version" ~ '^[0-9]{4}-[0-9]{2}$'),
  CONSTRAINT "webhook_endpoint_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "webhook_endpoint_events_check"
    -- array_to_string skips nulls.
    CHECK (
      array_position("events", NULL) IS NULL
      AND array_to_string("events", ',') ~ '^[a-z_]+([.][a-z_]+)*(,[a-z_]+([.][a-z_]+)*)*$'
    )
);
CREATE INDEX "webhook_endpoint_failing_idx"
  ON "webhook_endpoint" ("failing_since")
  WHERE "failing_since" IS NOT NULL;
CREATE INDEX "webhook_endpoint_activated_idx"
  ON "webhook_endpoint" ("activated_at")
  WHERE "activated_at" IS NOT NULL;
-- Each scrape of a worker's metrics counts the endpoints that failures have paused.
CREATE INDEX "webhook_endpoint_paused_idx"
  ON "webhook_endpoint" ("team_id")
  WHERE "status" = 'disabled_failures';

-- A healthy delivery is inserted and updated once. That update touches no index: Postgres writes
-- the row beside the old one (HOT), a third of the work and of the WAL. So no column of an index
-- may change: indexes use generated columns that are the same before and after a successful first
-- attempt, and event_in_hand finds the claims that come with the insertion.
CREATE TABLE "webhook_delivery" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "endpoint_id" text NOT NULL,
  "event_id" text NOT NULL,
  "event_type" text NOT NULL,
  "status" text NOT NULL DEFAULT 'pending',
  "attempt" integer NOT NULL DEFAULT 0,
  "created_at" timestamptz(3) NOT NULL,
  "next_try_at" timestamptz(3),
  "response_code" integer,
  "response_excerpt" text,
  "response_ms" integer,
  "error" text,
  "last_attempt_at" timestamptz(3),
  -- A test or a requested attempt: it ignores the schedule and the endpoint's state.
  "urgent" boolean NOT NULL DEFAULT false,
  -- The worker that has claimed it. Null: none. Valid while that worker holds its session lock.
  "claimed_by" integer,
  -- The worker that claimed it at its insertion, until it is claimed again.
  "first_worker" integer,
  -- pending or retrying, if it is not claimed.
  "waits_as" text GENERATED ALWAYS AS (
    CASE WHEN "claimed_by" IS NULL AND "status" IN ('pending', 'retrying') THEN "status" END
  ) STORED,
  -- The time of the next attempt, if it is not claimed.
  "due_at" timestamptz(3) GENERATED ALWAYS AS (
    CASE WHEN "claimed_by" IS NULL THEN "next_try_at" END
  ) STORED,
  -- The worker that has claimed it, unless that is its first one (see event_in_hand).
  "held_by" integer GENERATED ALWAYS AS (
    CASE WHEN "claimed_by" IS DISTINCT FROM "first_worker" THEN "claimed_by" END
  ) STORED,
  "has_failed" boolean GENERATED ALWAYS AS ("status" IN ('retrying', 'gave_up')) STORED,
  -- When its last attempt ended, to the minute; null while it waits. For a first attempt that ends
  -- within a minute it is the time of the insertion, which is known before.
  "kept_from" timestamptz(3) GENERATED ALWAYS AS (
    CASE
      WHEN "status" = 'retrying' THEN NULL
      WHEN "status" = 'pending' THEN CASE WHEN "claimed_by" = "first_worker" THEN "created_at" END
      WHEN "last_attempt_at" - "created_at" BETWEEN interval '-1 minute' AND interval '1 minute'
        THEN "created_at"
      ELSE "last_attempt_at"
    END
  ) STORED,
  -- The attempts that used up the schedule: all but the requested ones.
  "scheduled_attempts" integer NOT NULL DEFAULT 0,
  -- true: a resend has marked the delivery. The result of the next attempt counts.
  "resent" boolean NOT NULL DEFAULT false,
  -- The last failed attempts, at most ten. Null: none, as for nearly all deliveries.
  "failed_attempts" jsonb,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "webhook_delivery_id_check" CHECK ("id" <> ''),
  CONSTRAINT "webhook_delivery_status_check"
    CHECK ("status" IN ('pending', 'retrying', 'ok', 'gave_up')),
  CONSTRAINT "webhook_delivery_attempt_check" CHECK ("attempt" >= 0),
  CONSTRAINT "webhook_delivery_excerpt_check" CHECK (char_length("response_excerpt") <= 1000),
  CONSTRAINT "webhook_delivery_waits_check"
    CHECK (("status" IN ('pending', 'retrying')) = ("next_try_at" IS NOT NULL)),
  CONSTRAINT "webhook_delivery_team_id_event_id_fkey" FOREIGN KEY ("team_id", "event_id")
    REFERENCES "event" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "webhook_delivery_scheduled_attempts_check"
    CHECK ("scheduled_attempts" BETWEEN 0 AND "attempt")
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX "webhook_delivery_once_key"
  ON "webhook_delivery" ("team_id", "event_id", "endpoint_id");
CREATE INDEX "webhook_delivery_list_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "created_at" DESC, "id" DESC);
CREATE INDEX "webhook_delivery_pending_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "id")
  WHERE "waits_as" = 'pending';
CREATE INDEX "webhook_delivery_retrying_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "due_at")
  WHERE "waits_as" = 'retrying';
CREATE INDEX "webhook_delivery_due_idx"
  ON "webhook_delivery" ("due_at", "id")
  WHERE "waits_as" = 'retrying';
-- Requested attempts by endpoint.
CREATE INDEX "webhook_delivery_requested_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "id")
  WHERE "urgent";
CREATE INDEX "webhook_delivery_held_idx"
  ON "webhook_delivery" ("held_by")
  WHERE "held_by" IS NOT NULL;
CREATE INDEX "webhook_delivery_finished_idx"
  ON "webhook_delivery" ("kept_from")
  WHERE "kept_from" IS NOT NULL;
CREATE INDEX "webhook_delivery_failed_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "created_at" DESC, "id" DESC)
  WHERE "has_failed";
CREATE INDEX "webhook_delivery_failed_type_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "event_type", "created_at", "id")
  WHERE "has_failed";
-- The metric of waiting retries counts those of live teams and does not read the many of sandboxes.
CREATE INDEX "webhook_delivery_live_due_idx"
  ON "webhook_delivery" ("due_at", "id")
  WHERE "waits_as" = 'retrying' AND "team_id" NOT LIKE '%:sandbox';

-- An event whose first attempts a worker has claimed since it fanned the event out. The row stays
-- until none of these deliveries is claimed. No foreign key: a deletion of the event need not wait.
CREATE TABLE "event_in_hand" (
  "team_id" text NOT NULL,
  "event_id" text NOT NULL,
  "worker" integer NOT NULL,
  CONSTRAINT "event_in_hand_pkey" PRIMARY KEY ("team_id", "event_id", "worker")
);
CREATE INDEX "event_in_hand_worker_idx" ON "event_in_hand" ("worker");

CREATE TABLE "audit_log" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "actor_kind" text NOT NULL,
  -- The id of the key, the member or the service.
  "actor_id" text NOT NULL,
  "action" text NOT NULL,
  "target_id" text,
  "request_id" text NOT NULL,
  "details" jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "audit_log_actor_kind_check"
    CHECK ("actor_kind" IN ('api_key', 'user', 'platform', 'system')),
  CONSTRAINT "audit_log_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "audit_log_list_idx" ON "audit_log" ("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_created_at_idx" ON "audit_log" ("created_at");
-- Each filter is one range of an index in the order of the list. A search by several filters reads
-- the range that leads furthest.
CREATE INDEX "audit_log_target_idx"
  ON "audit_log" ("team_id", "target_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_action_idx"
  ON "audit_log" ("team_id", "action", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_actor_kind_idx"
  ON "audit_log" ("team_id", "actor_kind", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_actor_id_idx"
  ON "audit_log" ("team_id", "actor_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_sandbox_idx" ON "audit_log" ("created_at") WHERE "team_id" LIKE '%:sandbox';

-- Bulk resends of an endpoint's failed deliveries, oldest first. Neither resends nor deliveries
-- have a foreign key to the endpoint: a job removes them in batches after its deletion.
CREATE TABLE "webhook_resend" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "endpoint_id" text NOT NULL,
  "state" text NOT NULL DEFAULT 'running',
  -- Deliveries created since then and before created_at.
  "since" timestamptz(3) NOT NULL,
  -- The number of deliveries when it began.
  "total" integer NOT NULL,
  -- true: there were more than one resend takes.
  "has_more" boolean NOT NULL,
  "sent" integer NOT NULL DEFAULT 0,
  -- The last delivery that was sent again: the next batch continues after it.
  "position_at" timestamptz(3),
  "position_id" text,
  "created_at" timestamptz(3) NOT NULL,
  "finished_at" timestamptz(3),
  -- Limits the resend to one type of event. Null: every type.
  "event_type" text,
  -- Limits the resend to deliveries created before. Null: created_at.
  "until" timestamptz(3),
  -- Limits the resend to one of the two statuses of failed deliveries. Null: both.
  "status" text,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "webhook_resend_id_check" CHECK ("id" <> ''),
  CONSTRAINT "webhook_resend_state_check" CHECK ("state" IN ('running', 'done', 'cancelled')),
  CONSTRAINT "webhook_resend_finished_check"
    CHECK (("state" = 'running') = ("finished_at" IS NULL)),
  CONSTRAINT "webhook_resend_position_check" CHECK (num_nulls("position_at", "position_id") <> 1)
);
CREATE UNIQUE INDEX "webhook_resend_one_running_key"
  ON "webhook_resend" ("team_id", "endpoint_id")
  WHERE "state" = 'running';
CREATE INDEX "webhook_resend_endpoint_idx" ON "webhook_resend" ("team_id", "endpoint_id");
-- For the removal of old rows.
CREATE INDEX "webhook_resend_finished_idx"
  ON "webhook_resend" ("finished_at")
  WHERE "finished_at" IS NOT NULL;

-- Invitations that were mailed again, and those that were refused because the email was taken while
-- details were off. The hourly limit counts these and member.invited_at.
CREATE TABLE "invitation_resend" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "member_id" text NOT NULL,
  "sent_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "invitation_resend_id_check" CHECK ("id" <> ''),
  CONSTRAINT "invitation_resend_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id")
    REFERENCES "member" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "invitation_resend_sent_at_idx" ON "invitation_resend" ("team_id", "sent_at");
CREATE INDEX "invitation_resend_member_idx" ON "invitation_resend" ("team_id", "member_id");
CREATE INDEX "invitation_resend_removable_idx" ON "invitation_resend" ("sent_at");

-- Requests of a key on a day (UTC), by status. count_4xx excludes 429.
CREATE TABLE "api_key_usage" (
  "team_id" text NOT NULL,
  "day" date NOT NULL,
  "key_id" text NOT NULL,
  "count_2xx" integer NOT NULL DEFAULT 0,
  "count_4xx" integer NOT NULL DEFAULT 0,
  "count_429" integer NOT NULL DEFAULT 0,
  "count_5xx" integer NOT NULL DEFAULT 0,
  -- The largest share of the limit of requests per minute on that day, in percent: of the key's or
  -- of the team's limit, whichever was larger. 0: not known.
  "peak_percent" smallint NOT NULL DEFAULT 0,
  PRIMARY KEY ("team_id", "day", "key_id"),
  CONSTRAINT "api_key_usage_peak_check" CHECK ("peak_percent" BETWEEN 0 AND 100),
  CONSTRAINT "api_key_usage_team_id_key_id_fkey" FOREIGN KEY ("team_id", "key_id")
    REFERENCES "api_key" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
) WITH (fillfactor = 50);
CREATE INDEX "api_key_usage_day_idx" ON "api_key_usage" ("day");
CREATE INDEX "api_key_usage_key_idx" ON "api_key_usage" ("team_id", "key_id");
-- Sandboxes keep usage and the audit log for less time (src/features/retention/rules.ts).
CREATE INDEX "api_key_usage_sandbox_idx"
  ON "api_key_usage" ("day")
  WHERE "team_id" LIKE '%:sandbox';

-- Recipients of announcements (npm run announce): an interrupted one continues and mails no person
-- twice.
CREATE TABLE "announcement_mail" (
  "team_id" text NOT NULL,
  "announcement" text NOT NULL,
  "member_id" text NOT NULL,
  "sent_at" timestamptz(3) NOT NULL,
  CONSTRAINT "announcement_mail_pkey" PRIMARY KEY ("team_id", "announcement", "member_id"),
  CONSTRAINT "announcement_mail_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id")
    REFERENCES "member" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "announcement_mail_member_idx" ON "announcement_mail" ("team_id", "member_id");

-- Jobs that committed with a change. A worker hands them to graphile-worker.
CREATE TABLE "pending_job" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "task" text NOT NULL,
  "payload" json NOT NULL,
  "key" text,
  -- Jobs of one queue run one after the other.
  "queue" text,
  -- When the job runner rejected it last. Null: never. A rejected job does not block the others.
  "refused_at" timestamptz(3),
  -- The earliest time to run. Null: at once.
  "run_at" timestamptz(3),
  -- Lower numbers run first. One change may enqueue a hundred thousand mails, which run last.
  "priority" integer,
  CONSTRAINT "pending_job_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "pending_job_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

-- A text encrypted with the APP_SECRET of this database. Processes with another secret cannot
-- decrypt it and do not start. At most one row.
CREATE TABLE "app_secret_canary" (
  "id" boolean NOT NULL DEFAULT true,
  "sealed" bytea NOT NULL,
  CONSTRAINT "app_secret_canary_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "app_secret_canary_one_row_check" CHECK ("id")
);

-- The calls of API keys in the last seven days. A day has the partition of its number modulo ten:
-- TRUNCATE of the partition removes the day, and no partition must be created in time. No foreign
-- key: it would lock the row of the key for each request.
CREATE TABLE "request_log" (
  "team_id" text NOT NULL,
  "slot" integer NOT NULL,
  "id" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "key_id" text NOT NULL,
  "method" text NOT NULL,
  "route" text NOT NULL,
  "status" integer NOT NULL,
  "duration_ms" integer NOT NULL,
  "network" text,
  "error_code" text,
  "errors" json,
  -- The limit that rejected the call (src/core/limits.ts). Null: none did.
  "limited_by" text,
  CONSTRAINT "request_log_pkey" PRIMARY KEY ("team_id", "slot", "id")
) PARTITION BY LIST ("slot");
CREATE SCHEMA "request_days";
CREATE TABLE "request_days"."day_0" PARTITION OF "request_log" FOR VALUES IN (0);
CREATE TABLE "request_days"."day_1" PARTITION OF "request_log" FOR VALUES IN (1);
CREATE TABLE "request_days"."day_2" PARTITION OF "request_log" FOR VALUES IN (2);
CREATE TABLE "request_days"."day_3" PARTITION OF "request_log" FOR VALUES IN (3);
CREATE TABLE "request_days"."day_4" PARTITION OF "request_log" FOR VALUES IN (4);
CREATE TABLE "request_days"."day_5" PARTITION OF "request_log" FOR VALUES IN (5);
CREATE TABLE "request_days"."day_6" PARTITION OF "request_log" FOR VALUES IN (6);
CREATE TABLE "request_days"."day_7" PARTITION OF "request_log" FOR VALUES IN (7);
CREATE TABLE "request_days"."day_8" PARTITION OF "request_log" FOR VALUES IN (8);
CREATE TABLE "request_days"."day_9" PARTITION OF "request_log" FOR VALUES IN (9);
CREATE INDEX "request_log_list_idx" ON "request_log" ("team_id", "created_at" DESC, "id" DESC);

-- The team of a key's prefix: authentication then reads rows of one team only. No foreign key: on
-- Citus this table is on every node, and "api_key" is distributed.
CREATE TABLE "key_directory" (
  "prefix" text NOT NULL,
  "team_id" text NOT NULL,
  CONSTRAINT "key_directory_pkey" PRIMARY KEY ("prefix"),
  CONSTRAINT "key_directory_mode_check" CHECK (("prefix" LIKE 't%') = ("team_id" LIKE '%:sandbox'))
);
CREATE INDEX "key_directory_team_id_idx" ON "key_directory" ("team_id");

-- Counters of a team's keys, people and app, beside the team's other rows. Counters without a team
-- are in "rate_counter".
CREATE UNLOGGED TABLE "team_counter" (
  "team_id" text NOT NULL,
  "bucket" text NOT NULL,
  "minute" integer NOT NULL,
  "count" integer NOT NULL,
  CONSTRAINT "team_counter_pkey" PRIMARY KEY ("team_id", "bucket")
) WITH (fillfactor = 50);

-- Tokens that no longer authenticate although they have not expired: of ended sessions and of used
-- links. Logged, unlike the counters: a crash must not bring a token back. No foreign key: the
-- insertion must not wait for a lock of the team.
CREATE TABLE "spent_token" (
  "team_id" text NOT NULL,
  -- A hash.
  "id" text NOT NULL,
  "expires_at" timestamptz(3) NOT NULL,
  CONSTRAINT "spent_token_pkey" PRIMARY KEY ("team_id", "id")
);
CREATE INDEX "spent_token_expires_at_idx" ON "spent_token" ("expires_at");

-- The alerts that a member receives by mail, and those already mailed.
CREATE TABLE "alert_subscription" (
  "team_id" text NOT NULL,
  "member_id" text NOT NULL,
  -- Empty: none. The row is removed when it is due, so a change never causes two mails a day.
  "kinds" text[] NOT NULL,
  -- Mailed alerts that still apply. One that has passed may be mailed again.
  "told" text[] NOT NULL DEFAULT '{}',
  -- When a worker checks for new alerts.
  "next_check_at" timestamptz(3) NOT NULL,
  CONSTRAINT "alert_subscription_pkey" PRIMARY KEY ("team_id", "member_id"),
  CONSTRAINT "alert_subscription_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id")
    REFERENCES "member" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "alert_subscription_next_check_idx"
  ON "alert_subscription" ("next_check_at", "team_id", "member_id");

-- A sandbox is a team whose id ends with ":sandbox" (src/core/sandbox.ts), and this row.
CREATE TABLE "sandbox" (
  "team_id" text NOT NULL,
  "id" text NOT NULL DEFAULT 'sandbox',
  -- The scenario of the last reset.
  "scenario" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "reset_at" timestamptz(3) NOT NULL,
  -- The factor by which the retry schedule of its webhook endpoints is faster.
  "speed" integer NOT NULL DEFAULT 1,
  -- The end of a simulated suspension.
  "suspended_until" timestamptz(3),
  -- Until then, each receiver counts as answering 503; no request is sent.
  "receivers_fail_until" timestamptz(3),
  CONSTRAINT "sandbox_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "sandbox_id_check" CHECK ("id" = 'sandbox'),
  CONSTRAINT "sandbox_team_id_check" CHECK ("team_id" LIKE '_%:sandbox'),
  CONSTRAINT "sandbox_scenario_check" CHECK ("scenario" IN ('empty', 'typical', 'large')),
  CONSTRAINT "sandbox_speed_check" CHECK ("speed" BETWEEN 1 AND 1000),
  CONSTRAINT "sandbox_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

-- Mails that a live team would have sent. They are not sent.
CREATE TABLE "sandbox_mail" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "recipient" text NOT NULL,
  "subject" text NOT NULL,
  "body" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  CONSTRAINT "sandbox_mail_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "sandbox_mail_id_check" CHECK ("id" <> ''),
  CONSTRAINT "sandbox_mail_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "sandbox_mail_list_idx" ON "sandbox_mail" ("team_id", "created_at" DESC, "id" DESC);
-- For the removal of old rows.
CREATE INDEX "sandbox_mail_created_at_idx" ON "sandbox_mail" ("created_at");
