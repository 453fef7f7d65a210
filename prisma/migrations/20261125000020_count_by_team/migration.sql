-- Counters of teams' keys, people and apps belong to their team, so that a request finds all that
-- it needs with the rows of its team. "rate_counter" keeps what has no team: callers' addresses,
-- and links that were used.
CREATE UNLOGGED TABLE "team_counter" (
  "team_id" text NOT NULL,
  "bucket" text NOT NULL,
  "minute" integer NOT NULL,
  "count" integer NOT NULL,
  CONSTRAINT "team_counter_pkey" PRIMARY KEY ("team_id", "bucket")
) WITH (fillfactor = 50);

-- They tell when a key was last used.
INSERT INTO "team_counter" ("team_id", "bucket", "minute", "count")
SELECT k."team_id", c."bucket", c."minute", c."count"
FROM "rate_counter" c
JOIN "api_key" k ON k."prefix" = substr(c."bucket", 5)
WHERE c."bucket" LIKE 'key:%';
