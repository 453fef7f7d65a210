-- Each filter of the audit log is one range of an index in the order of the list, so that a search
-- for several can take the range that leads furthest.

CREATE INDEX "audit_log_target_idx"
  ON "audit_log" ("team_id", "target_id", "created_at" DESC, "id" DESC);

CREATE INDEX "audit_log_action_idx"
  ON "audit_log" ("team_id", "action", "created_at" DESC, "id" DESC);

CREATE INDEX "audit_log_actor_kind_idx"
  ON "audit_log" ("team_id", "actor_kind", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_actor_id_idx"
  ON "audit_log" ("team_id", "actor_id", "created_at" DESC, "id" DESC);
