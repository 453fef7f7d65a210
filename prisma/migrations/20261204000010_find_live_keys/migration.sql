-- The live keys of a team end after the time of the question, or never: few, however many it had.
CREATE INDEX CONCURRENTLY "api_key_end_idx"
  ON "api_key" ("team_id", (coalesce(least("revoked_at", "expires_at"), 'infinity')));
