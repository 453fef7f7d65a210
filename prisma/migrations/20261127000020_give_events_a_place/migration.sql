-- The place of an event in the order in which a reader may follow the events of its team. A worker
-- gives it after the event was committed. NULL: not yet. The INSERT of an event writes neither of
-- the two indexes.
ALTER TABLE "event" ADD COLUMN "place" bigint;

CREATE UNIQUE INDEX "event_place_idx" ON "event" ("team_id", "place")
  WHERE "place" IS NOT NULL;
-- What has no place yet, over all teams. It is empty but for the last half second.
CREATE INDEX "event_unplaced_idx" ON "event" ("created_at")
  WHERE "place" IS NULL AND "fanned_out_at" IS NOT NULL;
