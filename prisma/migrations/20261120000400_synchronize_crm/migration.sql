-- Synchronization of CRM connections. A connection without credentials (seeded ones, disconnected ones) is never synchronized.

ALTER TABLE "crm_connection"
  -- The access token, AES-256-GCM under APP_SECRET, bound to team and connection.
  ADD COLUMN "credentials_encrypted" bytea,
  -- What notes begin with that are objections; null: notes are not read.
  ADD COLUMN "objection_marker" text,
  -- Where the provider is asked instead of its own address. Never in production.
  ADD COLUMN "base_url" text,
  -- How far the synchronization is: the code's (features/crm/rules.ts), opaque to SQL.
  ADD COLUMN "sync_state" jsonb,
  -- Who is at it, and until when it is believed to live. A page is applied only by the one whose token stands here.
  ADD COLUMN "sync_token" text,
  ADD COLUMN "sync_lease_until" timestamptz(3),
  -- Null: not to be synchronized.
  ADD COLUMN "next_sync_at" timestamptz(3),
  ADD COLUMN "last_synced_at" timestamptz(3),
  ADD COLUMN "last_error" text,
  -- Failed attempts since the last success.
  ADD COLUMN "failure_streak" integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT "crm_connection_failure_streak_check" CHECK ("failure_streak" >= 0);
CREATE INDEX "crm_connection_due_idx" ON "crm_connection" ("next_sync_at") WHERE "next_sync_at" IS NOT NULL;

ALTER TABLE "crm_objection"
  -- What it was made from: `lost_reason`, or `note:` and the note's id in the CRM. Null: by hand or by a seed, never touched by a synchronization.
  ADD COLUMN "source" text,
  ADD COLUMN "synced_at" timestamptz(3);
CREATE UNIQUE INDEX "crm_objection_source_key" ON "crm_objection" ("team_id", "source", "deal_id");
