-- Trainings of one person with one status are one range of an index.

CREATE INDEX "training_user_status_idx"
  ON "training" ("team_id", "user_id", "status", "created_at" DESC, "id" DESC);
