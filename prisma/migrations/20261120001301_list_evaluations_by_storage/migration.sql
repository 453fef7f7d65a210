-- Evaluations that were stored before the column existed keep their place in the list.

UPDATE "evaluation" SET "stored_at" = "saved_at" WHERE "stored_at" IS NULL;

DROP INDEX "evaluation_list_idx";
CREATE INDEX "evaluation_list_idx"
  ON "evaluation" ("team_id", "stored_at" DESC, "training_id" DESC);
ALTER TABLE "evaluation" ALTER COLUMN "stored_at" SET NOT NULL;
