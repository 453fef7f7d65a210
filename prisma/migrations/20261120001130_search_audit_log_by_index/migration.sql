-- A search of the audit log for an actor, an action or a target is one range of an index.

CREATE INDEX "audit_log_target_idx"
  ON "audit_log" ("team_id", "target_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_actor_idx"
  ON "audit_log" ("team_id", "actor_kind", "actor_id", "created_at" DESC, "id" DESC);
CREATE INDEX "audit_log_action_idx"
  ON "audit_log" ("team_id", "action", "created_at" DESC, "id" DESC);
