-- The person of an evaluation's training, which never changes, so that an index can hold the
-- evaluations of one person in the order of the list. A trigger fills the column in for whoever
-- leaves it out, such as processes of the previous version, which run on until they are replaced.

ALTER TABLE "evaluation" ADD COLUMN "user_id" text;

CREATE FUNCTION "set_person_of_evaluation"() RETURNS trigger
LANGUAGE plpgsql
-- By the primary key, whatever the planner knows. The plan is made once for a session. One made for
-- an empty table would read all of the team's trainings for each row of a large load.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
  NEW."user_id" := (
    SELECT t."user_id"
    FROM (
      SELECT "team_id", "id", "user_id"
      FROM "training"
      WHERE ("team_id", "id") >= (NEW."team_id", NEW."training_id")
      ORDER BY "team_id", "id"
      LIMIT 1
    ) t
    WHERE t."team_id" = NEW."team_id" AND t."id" = NEW."training_id"
  );
  RETURN NEW;
END
$$;

CREATE TRIGGER "evaluation_set_person"
BEFORE INSERT ON "evaluation"
FOR EACH ROW WHEN (NEW."user_id" IS NULL)
EXECUTE FUNCTION "set_person_of_evaluation"();

-- When this database stored the evaluation, by its own clock. Whoever polls for new evaluations
-- needs this time: an evaluation may arrive long after its `saved_at`.
--
-- The default is for processes of the previous version, which run on until they are replaced. The
-- next migration fills in the older rows. It is a transaction of its own, because this one locks
-- out everybody.

ALTER TABLE "evaluation" ADD COLUMN "stored_at" timestamptz(3);
ALTER TABLE "evaluation" ALTER COLUMN "stored_at" SET DEFAULT clock_timestamp();
