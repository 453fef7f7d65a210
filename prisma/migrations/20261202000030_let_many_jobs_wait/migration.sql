-- Of one change there may be a hundred thousand mails. They wait while others have jobs.
ALTER TABLE "pending_job" ADD COLUMN "priority" integer;
