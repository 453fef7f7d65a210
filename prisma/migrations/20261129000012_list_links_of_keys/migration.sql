-- The list of the links to keys must not read those to endpoints.
CREATE INDEX CONCURRENTLY "handover_key_list_idx"
  ON "handover" ("team_id", "created_at" DESC, "id" DESC)
  WHERE "key_id" IS NOT NULL;
