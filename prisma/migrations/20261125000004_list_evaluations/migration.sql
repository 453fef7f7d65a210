-- Evaluations that were stored before the column existed keep their place in the list.

UPDATE "evaluation" SET "stored_at" = "saved_at" WHERE "stored_at" IS NULL;

DROP INDEX "evaluation_list_idx";
CREATE INDEX "evaluation_list_idx"
  ON "evaluation" ("team_id", "stored_at" DESC, "training_id" DESC);
ALTER TABLE "evaluation" ALTER COLUMN "stored_at" SET NOT NULL;

-- Evaluations of one person, in the order of the list.

UPDATE "evaluation" e
SET "user_id" = t."user_id"
FROM "training" t
WHERE t."team_id" = e."team_id" AND t."id" = e."training_id" AND e."user_id" IS NULL;

ALTER TABLE "evaluation" ALTER COLUMN "user_id" SET NOT NULL;

CREATE INDEX "evaluation_user_idx"
  ON "evaluation" ("team_id", "user_id", "stored_at" DESC, "training_id" DESC);
