-- A page of the list of keys, newest first, reads no others.
CREATE INDEX CONCURRENTLY "api_key_list_idx"
  ON "api_key" ("team_id", "created_at" DESC, "id" DESC);
