-- Tokens that open nothing any more although they have not expired: those of sessions that were
-- signed out of, and those of links that were used. Unlike the rows of the counters, these outlive
-- a crash. There is no foreign key, because writing one must not wait for whoever locks the team.
CREATE TABLE "spent_token" (
  "team_id" text NOT NULL,
  -- A hash: nothing can be opened with it.
  "id" text NOT NULL,
  "expires_at" timestamptz(3) NOT NULL,
  CONSTRAINT "spent_token_pkey" PRIMARY KEY ("team_id", "id")
);
SELECT distribute_by_team('spent_token');
CREATE INDEX "spent_token_expires_at_idx" ON "spent_token" ("expires_at");
