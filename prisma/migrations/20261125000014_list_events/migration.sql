-- The events of a team, newest first. The type comes last, so that a search for a rare type passes
-- the others within the index.
CREATE INDEX "event_list_idx" ON "event" ("team_id", "created_at" DESC, "id" DESC, "type");
