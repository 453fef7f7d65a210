-- true: what the call has made goes with a reset of the sandbox, so its kept response goes, too.
-- Processes of the version before do not mark theirs; those end after a day.
ALTER TABLE "idempotency_record" ADD COLUMN "removed_by_reset" boolean NOT NULL DEFAULT false;
