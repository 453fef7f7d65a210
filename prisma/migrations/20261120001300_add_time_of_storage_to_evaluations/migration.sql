-- When this database stored the evaluation, by its own clock. Whoever polls for new evaluations
-- needs this time: an evaluation may arrive long after its `saved_at`.
--
-- The default is for processes of the previous version, which run on until they are replaced. The
-- next migration fills in the older rows. It is a transaction of its own, because this one locks
-- out everybody.

ALTER TABLE "evaluation" ADD COLUMN "stored_at" timestamptz(3);
ALTER TABLE "evaluation" ALTER COLUMN "stored_at" SET DEFAULT clock_timestamp();
