-- In the order of the last change.
CREATE INDEX "assignment_change_idx"
  ON "assignment" ("team_id", (coalesce("updated_at", "created_at")) DESC, "id" DESC);

-- By the id in the customer's own system. A longer one would not fit into an index; the service
-- refuses it.
CREATE INDEX "assignment_external_id_idx"
  ON "assignment" ("team_id", ("external_ref" ->> 'id'), "created_at" DESC, "id" DESC)
  WHERE length("external_ref" ->> 'id') <= 200;

-- Of one member, each status in the order of the list.
CREATE INDEX "assignment_member_list_idx"
  ON "assignment" ("team_id", "member_id", "status", "created_at" DESC, "id" DESC);
