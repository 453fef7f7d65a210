-- Trainings of one person with one status are one range of an index.

CREATE INDEX "training_user_status_idx"
  ON "training" ("team_id", "user_id", "status", "created_at" DESC, "id" DESC);

-- Hardly an assignment has a completed training when it is created, so creating one costs an entry
-- of an index less.
CREATE INDEX "assignment_completion_idx" ON "assignment" ("team_id", "completed_training_id")
  WHERE "completed_training_id" IS NOT NULL;
DROP INDEX "assignment_completed_training_idx";
