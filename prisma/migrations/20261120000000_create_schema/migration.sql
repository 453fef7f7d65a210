-- The whole data model. Rules that hold for every table:
--  * the primary key of a tenant table is (team_id, id), and foreign keys carry both, so a row cannot point into another team;
--  * ids come from the service, timestamps are timestamptz(3) because cursors pass through milliseconds;
--  * what must hold is a constraint here, not only a check in the code.
-- Foreign keys do not cascade (nothing vanishes by accident), but for what is a part of its parent.

-- Tenants and people ---------------------------------------------------------------------------------------------------

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
  -- true: every global catalog entry is released to the team; false: only those in catalog_release.
  "all_released" boolean NOT NULL DEFAULT true,
  "created_at" timestamptz(3) NOT NULL,
  CONSTRAINT "team_id_check" CHECK ("id" <> ''),
  CONSTRAINT "team_plan_check" CHECK ("plan" IN ('starter', 'team', 'enterprise')),
  CONSTRAINT "team_status_check" CHECK ("status" IN ('active', 'suspended', 'ended')),
  CONSTRAINT "team_seats_check" CHECK ("seats" >= 0),
  CONSTRAINT "team_rate_limit_check" CHECK ("rate_limit_per_min" > 0),
  CONSTRAINT "team_language_check" CHECK ("language" IN ('de', 'en'))
);

-- A person as one team knows them: what trainings, cases and deals refer to. Outlives the membership.
CREATE TABLE "person" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "person_id_check" CHECK ("id" <> ''),
  CONSTRAINT "person_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE TABLE "member" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "user_id" text,
  "email" text NOT NULL,
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
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "member_id_check" CHECK ("id" <> ''),
  CONSTRAINT "member_role_check" CHECK ("role" IN ('owner', 'admin', 'member')),
  CONSTRAINT "member_status_check" CHECK ("status" IN ('active', 'invited', 'ended')),
  CONSTRAINT "member_language_check" CHECK ("language" IN ('de', 'en')),
  CONSTRAINT "member_email_check" CHECK ("email" = btrim("email") AND "email" <> ''),
  CONSTRAINT "member_active_has_user_check" CHECK ("status" <> 'active' OR "user_id" IS NOT NULL),
  CONSTRAINT "member_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "member_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id") REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "member_list_idx" ON "member" ("team_id", "created_at" DESC, "id" DESC) WHERE "status" <> 'ended';
CREATE INDEX "member_invited_at_idx" ON "member" ("team_id", "invited_at") WHERE "invited_at" IS NOT NULL;
CREATE UNIQUE INDEX "member_live_email_key" ON "member" ("team_id", lower("email")) WHERE "status" <> 'ended';
CREATE UNIQUE INDEX "member_live_user_id_key" ON "member" ("team_id", "user_id") WHERE "status" <> 'ended';
CREATE UNIQUE INDEX "member_one_owner_key" ON "member" ("team_id") WHERE "role" = 'owner' AND "status" <> 'ended';
CREATE INDEX "member_user_id_idx" ON "member" ("team_id", "user_id");

-- Catalog, releases, rules, policies -----------------------------------------------------------------------------------

CREATE TABLE "catalog_entry" (
  "id" text NOT NULL PRIMARY KEY,
  "kind" text NOT NULL,
  "name_de" text,
  "name_en" text,
  "icon" text,
  CONSTRAINT "catalog_entry_id_check" CHECK ("id" <> ''),
  CONSTRAINT "catalog_entry_kind_check" CHECK ("kind" IN ('situation', 'personality', 'industry', 'role', 'methodology'))
);

-- A team's own entries. Where an id is in both tables the team's own stands.
CREATE TABLE "team_catalog_entry" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "kind" text NOT NULL,
  "name_de" text,
  "name_en" text,
  "icon" text,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "team_catalog_entry_id_check" CHECK ("id" <> ''),
  CONSTRAINT "team_catalog_entry_kind_check" CHECK ("kind" IN ('situation', 'personality', 'industry', 'role', 'methodology')),
  CONSTRAINT "team_catalog_entry_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE TABLE "catalog_release" (
  "team_id" text NOT NULL,
  "entry_id" text NOT NULL,
  PRIMARY KEY ("team_id", "entry_id"),
  CONSTRAINT "catalog_release_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "catalog_release_entry_id_fkey" FOREIGN KEY ("entry_id") REFERENCES "catalog_entry" ("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "catalog_release_entry_id_idx" ON "catalog_release" ("entry_id");

-- A combination that the catalog forbids: two or three of the columns are set.
CREATE TABLE "catalog_rule" (
  "id" text NOT NULL PRIMARY KEY,
  "situation_id" text,
  "personality_id" text,
  "industry_id" text,
  CONSTRAINT "catalog_rule_two_of_three_check" CHECK (num_nonnulls("situation_id", "personality_id", "industry_id") >= 2)
);
CREATE UNIQUE INDEX "catalog_rule_combination_key" ON "catalog_rule" ("situation_id", "personality_id", "industry_id") NULLS NOT DISTINCT;

-- Policies are lists of blocked entries: the team's, and on top of it a member's own.
CREATE TABLE "team_block" (
  "team_id" text NOT NULL,
  "entry_id" text NOT NULL,
  PRIMARY KEY ("team_id", "entry_id"),
  CONSTRAINT "team_block_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE TABLE "member_block" (
  "team_id" text NOT NULL,
  "member_id" text NOT NULL,
  "entry_id" text NOT NULL,
  PRIMARY KEY ("team_id", "member_id", "entry_id"),
  CONSTRAINT "member_block_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id") REFERENCES "member" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);

-- Assignments, trainings, evaluations, cases ---------------------------------------------------------------------------

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
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "assignment_id_check" CHECK ("id" <> ''),
  CONSTRAINT "assignment_status_check" CHECK ("status" IN ('open', 'done', 'revoked')),
  CONSTRAINT "assignment_title_check" CHECK (char_length("title") BETWEEN 1 AND 120),
  CONSTRAINT "assignment_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "assignment_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id") REFERENCES "member" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "assignment_list_idx" ON "assignment" ("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "assignment_member_idx" ON "assignment" ("team_id", "member_id", "status");
CREATE INDEX "assignment_completed_training_idx" ON "assignment" ("team_id", "completed_training_id");

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
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "training_id_check" CHECK ("id" <> ''),
  -- The specification leaves the set of states open, so only their form is fixed.
  CONSTRAINT "training_status_check" CHECK ("status" ~ '^[a-z][a-z_]{0,39}$'),
  CONSTRAINT "training_source_check" CHECK ("source" ~ '^[a-z][a-z_]{0,39}$'),
  CONSTRAINT "training_duration_check" CHECK ("duration_s" >= 0),
  CONSTRAINT "training_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id") REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "training_team_id_assignment_id_fkey" FOREIGN KEY ("team_id", "assignment_id") REFERENCES "assignment" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "training_list_idx" ON "training" ("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "training_user_idx" ON "training" ("team_id", "user_id", "created_at" DESC, "id" DESC);
CREATE INDEX "training_status_idx" ON "training" ("team_id", "status", "created_at" DESC, "id" DESC);
CREATE INDEX "training_assignment_idx" ON "training" ("team_id", "assignment_id", "created_at" DESC, "id" DESC) WHERE "assignment_id" IS NOT NULL;

-- Checked at commit: a training and the assignment that it completes point at each other.
ALTER TABLE "assignment" ADD CONSTRAINT "assignment_team_id_completed_training_id_fkey"
  FOREIGN KEY ("team_id", "completed_training_id") REFERENCES "training" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION DEFERRABLE INITIALLY DEFERRED;

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
  PRIMARY KEY ("team_id", "training_id"),
  CONSTRAINT "evaluation_dimensions_check" CHECK (jsonb_typeof("dimensions") = 'object'),
  CONSTRAINT "evaluation_tips_check" CHECK (jsonb_typeof("tips") = 'array' AND jsonb_array_length("tips") <= 5),
  CONSTRAINT "evaluation_team_id_training_id_fkey" FOREIGN KEY ("team_id", "training_id") REFERENCES "training" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "evaluation_list_idx" ON "evaluation" ("team_id", "saved_at" DESC, "training_id" DESC);

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
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "training_case_id_check" CHECK ("id" <> ''),
  CONSTRAINT "training_case_fields_check" CHECK (json_typeof("fields") IN ('object', 'array')),
  CONSTRAINT "training_case_external_ref_check" CHECK (json_typeof("external_ref") = 'object'),
  CONSTRAINT "training_case_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id") REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "training_case_list_idx" ON "training_case" ("team_id", "created_at" DESC, "id" DESC) WHERE NOT "private";
CREATE INDEX "training_case_user_idx" ON "training_case" ("team_id", "user_id", "created_at" DESC, "id" DESC) WHERE NOT "private";

-- Analytics rollups, kept in the transaction that saves an evaluation --------------------------------------------------

-- Everything since the beginning, one row a person. The dimensions are those of src/core/dimensions.ts.
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
  CONSTRAINT "analytics_person_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id") REFERENCES "person" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);

-- Scores of one person in one ISO week (Monday, UTC), with the days apart: the trend reads weeks, the 30-day windows days.
-- Columns, not arrays: a read visits thousands of rows, and taking a day out of an array costs more than finding the row.
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
  CONSTRAINT "analytics_person_week_team_id_user_id_fkey" FOREIGN KEY ("team_id", "user_id") REFERENCES "person" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "analytics_person_week_user_idx" ON "analytics_person_week" ("team_id", "user_id");

-- CRM -----------------------------------------------------------------------------------------------------------------

CREATE TABLE "crm_connection" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "provider" text NOT NULL,
  "status" text NOT NULL DEFAULT 'active',
  "created_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "crm_connection_id_check" CHECK ("id" <> ''),
  CONSTRAINT "crm_connection_provider_check" CHECK ("provider" IN ('hubspot', 'pipedrive')),
  CONSTRAINT "crm_connection_status_check" CHECK ("status" IN ('active', 'paused', 'disconnected')),
  CONSTRAINT "crm_connection_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

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
  CONSTRAINT "crm_deal_team_id_connection_id_fkey" FOREIGN KEY ("team_id", "connection_id") REFERENCES "crm_connection" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "crm_deal_team_id_owner_user_id_fkey" FOREIGN KEY ("team_id", "owner_user_id") REFERENCES "person" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "crm_deal_external_id_key" ON "crm_deal" ("team_id", "connection_id", "external_id");
CREATE INDEX "crm_deal_list_idx" ON "crm_deal" ("team_id", "created_at" DESC, "id" DESC);

CREATE TABLE "crm_objection" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "deal_id" text NOT NULL,
  "category" text NOT NULL,
  "text" text NOT NULL,
  "lang" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "crm_objection_id_check" CHECK ("id" <> ''),
  CONSTRAINT "crm_objection_team_id_deal_id_fkey" FOREIGN KEY ("team_id", "deal_id") REFERENCES "crm_deal" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "crm_objection_list_idx" ON "crm_objection" ("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "crm_objection_deal_idx" ON "crm_objection" ("team_id", "deal_id");

-- API keys, rate counters, idempotency ---------------------------------------------------------------------------------

CREATE TABLE "api_key" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "name" text NOT NULL,
  -- The public part of the key, by which it is found; unique over all teams because the request names no team.
  "prefix" text NOT NULL,
  "secret_hash" bytea NOT NULL,
  "scopes" text[] NOT NULL,
  "created_by" text NOT NULL,
  -- Addresses or networks; null: from anywhere.
  "allowed_ips" inet[],
  "created_at" timestamptz(3) NOT NULL,
  "expires_at" timestamptz(3),
  "revoked_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "api_key_id_check" CHECK ("id" <> ''),
  CONSTRAINT "api_key_prefix_check" CHECK ("prefix" ~ '^[0-9A-Za-z]{8,32}$'),
  CONSTRAINT "api_key_secret_hash_check" CHECK (octet_length("secret_hash") = 32),
  CONSTRAINT "api_key_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "api_key_team_id_created_by_fkey" FOREIGN KEY ("team_id", "created_by") REFERENCES "member" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "api_key_prefix_key" ON "api_key" ("prefix");
CREATE UNIQUE INDEX "api_key_team_id_name_key" ON "api_key" ("team_id", "name");

-- One row a bucket (key, tenant, caller IP), reset in place each minute. Unlogged: after a crash the minute starts anew.
CREATE UNLOGGED TABLE "rate_counter" (
  "bucket" text NOT NULL PRIMARY KEY,
  "minute" integer NOT NULL,
  "count" integer NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE "idempotency_record" (
  "team_id" text NOT NULL,
  "key" text NOT NULL,
  -- SHA-256 over method, path and canonical body.
  "fingerprint" bytea NOT NULL,
  "status" integer NOT NULL,
  -- The response's bytes, encrypted where they hold a secret.
  "body" bytea NOT NULL,
  "encrypted" boolean NOT NULL,
  "location" text,
  "created_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("team_id", "key"),
  CONSTRAINT "idempotency_record_key_check" CHECK (char_length("key") BETWEEN 1 AND 100),
  CONSTRAINT "idempotency_record_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "idempotency_record_created_at_idx" ON "idempotency_record" ("created_at");

-- Events, webhooks, audit ----------------------------------------------------------------------------------------------

-- The outbox. data is final: the privacy switches of the moment are already applied to it.
CREATE TABLE "event" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "type" text NOT NULL,
  "data" json NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "fanned_out_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "event_id_check" CHECK ("id" ~ '^evt_'),
  CONSTRAINT "event_type_check" CHECK ("type" IN ('training.completed', 'evaluation.completed', 'assignment.created', 'assignment.completed',
    'member.joined', 'member.removed', 'crm.sync.failed', 'ping')),
  CONSTRAINT "event_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "event_created_at_idx" ON "event" ("created_at");
CREATE INDEX "event_waiting_idx" ON "event" ("created_at") WHERE "fanned_out_at" IS NULL;

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
  -- The first failed attempt after the last success: where the three-day clock began.
  "failing_since" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "webhook_endpoint_id_check" CHECK ("id" <> ''),
  CONSTRAINT "webhook_endpoint_url_check" CHECK (char_length("url") <= 2048),
  CONSTRAINT "webhook_endpoint_status_check" CHECK ("status" IN ('active', 'disabled', 'disabled_failures')),
  CONSTRAINT "webhook_endpoint_events_check" CHECK (cardinality("events") > 0 AND "events" <@ ARRAY['training.completed', 'evaluation.completed',
    'assignment.created', 'assignment.completed', 'member.joined', 'member.removed', 'crm.sync.failed']),
  CONSTRAINT "webhook_endpoint_api_version_check" CHECK ("api_version" ~ '^[0-9]{4}-[0-9]{2}$'),
  CONSTRAINT "webhook_endpoint_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

CREATE INDEX "webhook_endpoint_failing_idx" ON "webhook_endpoint" ("failing_since") WHERE "failing_since" IS NOT NULL;

CREATE TABLE "webhook_delivery" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "endpoint_id" text NOT NULL,
  "event_id" text NOT NULL,
  "event_type" text NOT NULL,
  "status" text NOT NULL DEFAULT 'pending',
  "attempt" integer NOT NULL DEFAULT 0,
  -- How many of the attempts were asked for: these do not use up the schedule.
  "extra_attempts" integer NOT NULL DEFAULT 0,
  "created_at" timestamptz(3) NOT NULL,
  "next_try_at" timestamptz(3),
  "response_code" integer,
  "response_excerpt" text,
  "response_ms" integer,
  "error" text,
  "last_attempt_at" timestamptz(3),
  -- To be attempted at once, whatever the schedule and the endpoint's state say: a test, or an attempt that was asked for.
  "urgent" boolean NOT NULL DEFAULT false,
  -- The worker that has it in hand; null: nobody. Meaningful while that worker holds its lock (see the dispatcher).
  "claimed_by" integer,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "webhook_delivery_id_check" CHECK ("id" <> ''),
  CONSTRAINT "webhook_delivery_status_check" CHECK ("status" IN ('pending', 'retrying', 'ok', 'gave_up')),
  CONSTRAINT "webhook_delivery_attempt_check" CHECK ("attempt" >= 0),
  CONSTRAINT "webhook_delivery_excerpt_check" CHECK (char_length("response_excerpt") <= 1000),
  CONSTRAINT "webhook_delivery_waits_check" CHECK (("status" IN ('pending', 'retrying')) = ("next_try_at" IS NOT NULL)),
  CONSTRAINT "webhook_delivery_team_id_endpoint_id_fkey" FOREIGN KEY ("team_id", "endpoint_id") REFERENCES "webhook_endpoint" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT "webhook_delivery_team_id_event_id_fkey" FOREIGN KEY ("team_id", "event_id") REFERENCES "event" ("team_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "webhook_delivery_once_key" ON "webhook_delivery" ("team_id", "event_id", "endpoint_id");
CREATE INDEX "webhook_delivery_list_idx" ON "webhook_delivery" ("team_id", "endpoint_id", "created_at" DESC, "id" DESC);
-- What waits, by endpoint: first attempts, retries by the time they are due, and what must not wait.
CREATE INDEX "webhook_delivery_pending_idx" ON "webhook_delivery" ("team_id", "endpoint_id", "id") WHERE "status" = 'pending' AND "claimed_by" IS NULL;
CREATE INDEX "webhook_delivery_retrying_idx" ON "webhook_delivery" ("team_id", "endpoint_id", "next_try_at") WHERE "status" = 'retrying' AND "claimed_by" IS NULL;
CREATE INDEX "webhook_delivery_urgent_idx" ON "webhook_delivery" ("id") WHERE "urgent" AND "claimed_by" IS NULL;
CREATE INDEX "webhook_delivery_claimed_idx" ON "webhook_delivery" ("claimed_by") WHERE "claimed_by" IS NOT NULL;
CREATE INDEX "webhook_delivery_finished_idx" ON "webhook_delivery" ("last_attempt_at") WHERE "next_try_at" IS NULL;

CREATE TABLE "audit_log" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "actor_kind" text NOT NULL,
  -- The key's, member's or service's id.
  "actor_id" text NOT NULL,
  "action" text NOT NULL,
  "target_id" text,
  "request_id" text NOT NULL,
  "details" jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "audit_log_actor_kind_check" CHECK ("actor_kind" IN ('api_key', 'user', 'platform', 'system')),
  CONSTRAINT "audit_log_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
CREATE INDEX "audit_log_list_idx" ON "audit_log" ("team_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_created_at_idx" ON "audit_log" ("created_at");
