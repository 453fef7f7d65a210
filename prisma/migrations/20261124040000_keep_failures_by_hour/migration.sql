-- The first failed attempt of each hour (UTC) since the last success, oldest first. Results are
-- written in any order: a success that comes late must leave the failures after it. Processes of
-- the version before know only the oldest one, `failing_since`, which is merged into these.
ALTER TABLE "webhook_endpoint"
  ADD COLUMN "hourly_failures" timestamptz(3)[] NOT NULL DEFAULT '{}';
