-- A resend marks a delivery, and only the result of an attempt counts. `extra_attempts` was counted
-- by resends in advance: a second one before the first attempt ended the delivery. Rows of before
-- have null until their next attempt; the claim reads them by `extra_attempts`, which results go on
-- to write for workers of the version before. Both columns are added without touching a row.
ALTER TABLE "webhook_delivery"
  ADD COLUMN "scheduled_attempts" integer,
  ADD COLUMN "resent" boolean NOT NULL DEFAULT false;

-- NOT VALID skips the check of existing rows, which would scan the table under an exclusive lock.
ALTER TABLE "webhook_delivery"
  ADD CONSTRAINT "webhook_delivery_scheduled_attempts_check"
  CHECK ("scheduled_attempts" BETWEEN 0 AND "attempt") NOT VALID;
