-- A job that the job runner refuses is set aside, so that it does not hold up the others.

-- When it was refused last; null: it was not.
ALTER TABLE "pending_job" ADD COLUMN "refused_at" timestamptz(3);
