-- When a webhook endpoint was last set to active. Workers look for its waiting deliveries then.
ALTER TABLE "webhook_endpoint" ADD COLUMN "activated_at" timestamptz(3);
CREATE INDEX "webhook_endpoint_activated_idx" ON "webhook_endpoint" ("activated_at")
  WHERE "activated_at" IS NOT NULL;

-- After a rotation, deliveries are also signed with earlier secrets for a while. The encrypted text
-- is a JSON list of them with their ends; the other column is the last of these ends.
ALTER TABLE "webhook_endpoint"
  ADD COLUMN "earlier_secrets_encrypted" bytea,
  ADD COLUMN "earlier_secrets_until" timestamptz(3);

-- The first failed attempt of each hour (UTC) since the last success, oldest first. Results are
-- written in any order: a success that comes late must leave the failures after it. Processes of
-- the version before know only the oldest one, `failing_since`, which is merged into these.
ALTER TABLE "webhook_endpoint"
  ADD COLUMN "hourly_failures" timestamptz(3)[] NOT NULL DEFAULT '{}';
