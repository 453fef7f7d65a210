-- A healthy delivery is inserted and updated once. That update touches no index any more: Postgres
-- writes the row beside the old one (HOT), which is a third of the work and of the log. For that,
-- no column of an index may change. So indexes have columns made from the others, which are the
-- same before and after a first attempt that succeeds, and the claim that comes with the insertion
-- is found by its event.
--
-- This writes the table anew, and nobody reads it meanwhile: 13 s for a million deliveries.
-- Workers of the version before go on, but slowly: their statements have no indexes any more.

-- An event whose first attempts a worker has in hand since it fanned the event out. The row stays
-- until none of these deliveries is claimed. There is no foreign key: whoever deletes the event or
-- the worker need not wait for it.
CREATE TABLE "event_in_hand" (
  "team_id" text NOT NULL,
  "event_id" text NOT NULL,
  "worker" integer NOT NULL,
  CONSTRAINT "event_in_hand_pkey" PRIMARY KEY ("team_id", "event_id", "worker")
);
SELECT distribute_by_team('event_in_hand');
CREATE INDEX "event_in_hand_worker_idx" ON "event_in_hand" ("worker");

DROP INDEX "webhook_delivery_pending_idx";
DROP INDEX "webhook_delivery_retrying_idx";
DROP INDEX "webhook_delivery_urgent_idx";
DROP INDEX "webhook_delivery_claimed_idx";
DROP INDEX "webhook_delivery_finished_idx";
DROP INDEX "webhook_delivery_failed_idx";

-- Room beside each row for what its attempt adds.
ALTER TABLE "webhook_delivery" SET (fillfactor = 50);

ALTER TABLE "webhook_delivery"
  -- The worker that claimed it when it was inserted, until it is claimed again.
  ADD COLUMN "first_worker" integer,
  -- pending or retrying, if nobody has it in hand.
  ADD COLUMN "waits_as" text GENERATED ALWAYS AS (
    CASE WHEN "claimed_by" IS NULL AND "status" IN ('pending', 'retrying') THEN "status" END
  ) STORED,
  -- When it waits: until when.
  ADD COLUMN "due_at" timestamptz(3) GENERATED ALWAYS AS (
    CASE WHEN "claimed_by" IS NULL THEN "next_try_at" END
  ) STORED,
  -- The worker that has it in hand, unless that is its first one (see event_in_hand).
  ADD COLUMN "held_by" integer GENERATED ALWAYS AS (
    CASE WHEN "claimed_by" IS DISTINCT FROM "first_worker" THEN "claimed_by" END
  ) STORED,
  ADD COLUMN "has_failed" boolean GENERATED ALWAYS AS ("status" IN ('retrying', 'gave_up')) STORED,
  -- When its last attempt ended, to the minute; null while it waits. A first attempt that ends
  -- within a minute counts from the insertion, so the time is known before.
  ADD COLUMN "kept_from" timestamptz(3) GENERATED ALWAYS AS (
    CASE
      WHEN "status" = 'retrying' THEN NULL
      WHEN "status" = 'pending' THEN CASE WHEN "claimed_by" = "first_worker" THEN "created_at" END
      WHEN "last_attempt_at" - "created_at" BETWEEN interval '-1 minute' AND interval '1 minute'
        THEN "created_at"
      ELSE "last_attempt_at"
    END
  ) STORED;

CREATE INDEX "webhook_delivery_pending_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "id")
  WHERE "waits_as" = 'pending';
CREATE INDEX "webhook_delivery_retrying_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "due_at")
  WHERE "waits_as" = 'retrying';
CREATE INDEX "webhook_delivery_due_idx"
  ON "webhook_delivery" ("due_at", "id")
  WHERE "waits_as" = 'retrying';
-- Requested attempts wait like first attempts and retries, and are found by their endpoints.
CREATE INDEX "webhook_delivery_requested_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "id")
  WHERE "urgent";
CREATE INDEX "webhook_delivery_held_idx"
  ON "webhook_delivery" ("held_by")
  WHERE "held_by" IS NOT NULL;
CREATE INDEX "webhook_delivery_finished_idx"
  ON "webhook_delivery" ("kept_from")
  WHERE "kept_from" IS NOT NULL;
CREATE INDEX "webhook_delivery_failed_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "created_at" DESC, "id" DESC)
  WHERE "has_failed";
CREATE INDEX "webhook_delivery_failed_type_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "event_type", "created_at", "id")
  WHERE "has_failed";

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
