-- Events that must be kept although they are old, because deliveries of them still wait, for
-- instance those of a paused endpoint. There may be millions. The hourly removal marks each of them
-- once, and its index does not hold the marked ones, so it does not read them again and again.

ALTER TABLE "event" ADD COLUMN "kept_for_deliveries" boolean NOT NULL DEFAULT false;

-- Only the removal of old events reads by this time.
DROP INDEX "event_created_at_idx";
CREATE INDEX "event_removable_idx" ON "event" ("created_at")
  WHERE "fanned_out_at" IS NOT NULL AND NOT "kept_for_deliveries";

-- A trace leads from the call that raised an event to the receivers of its deliveries, which other
-- processes make later. Only events of traced calls have it.

ALTER TABLE "event" ADD COLUMN "traceparent" text;
