-- The links to one endpoint's secrets, in the order of the list. The foreign key and a rotation
-- find rows by it, too.
CREATE INDEX CONCURRENTLY "handover_endpoint_list_idx"
  ON "handover" ("team_id", "endpoint_id", "created_at" DESC, "id" DESC);
