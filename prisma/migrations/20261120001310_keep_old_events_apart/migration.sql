-- Events that must be kept although they are old, because deliveries of them still wait, for
-- instance those of a paused endpoint. There may be millions. The hourly removal marks each of them
-- once, and its index does not hold the marked ones, so it does not read them again and again.

ALTER TABLE "event" ADD COLUMN "kept_for_deliveries" boolean NOT NULL DEFAULT false;

-- Only the removal of old events reads by this time.
DROP INDEX "event_created_at_idx";
CREATE INDEX "event_removable_idx" ON "event" ("created_at")
  WHERE "fanned_out_at" IS NOT NULL AND NOT "kept_for_deliveries";

-- Clears the mark of an event when its last delivery is deleted, whoever deletes it. The rows are
-- locked in the order of their keys, and the second statement sees what has been committed while
-- the first one waited: of two transactions that delete the last two deliveries, the later one
-- clears the mark. LIMIT and OFFSET make Postgres look each row up by its key. Without them a plan
-- that was made for a few deleted rows, or for many, would be used for all.
CREATE FUNCTION "release_kept_events"() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM
  FROM (
    SELECT DISTINCT "team_id", "event_id"
    FROM "removed_delivery"
    ORDER BY "team_id", "event_id"
  ) d
  CROSS JOIN LATERAL (
    SELECT
    FROM "event"
    WHERE "team_id" = d."team_id" AND "id" = d."event_id" AND "kept_for_deliveries"
    LIMIT 1
    FOR NO KEY UPDATE
  ) e;
  IF FOUND THEN
    UPDATE "event"
    SET "kept_for_deliveries" = false
    WHERE ctid = ANY (ARRAY(
      SELECT e.ctid
      FROM "removed_delivery" d
      CROSS JOIN LATERAL (
        SELECT ctid
        FROM "event"
        WHERE "team_id" = d."team_id" AND "id" = d."event_id" AND "kept_for_deliveries"
        LIMIT 1
      ) e
      WHERE NOT EXISTS (
        SELECT
        FROM "webhook_delivery"
        WHERE "team_id" = d."team_id" AND "event_id" = d."event_id"
        OFFSET 0
      )
    ));
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER "webhook_delivery_removed"
  AFTER DELETE ON "webhook_delivery"
  REFERENCING OLD TABLE AS "removed_delivery"
  FOR EACH STATEMENT EXECUTE FUNCTION "release_kept_events"();

-- The removal of the other kinds reads one range of an index, too.
CREATE INDEX "webhook_resend_finished_idx" ON "webhook_resend" ("finished_at")
  WHERE "finished_at" IS NOT NULL;
CREATE INDEX "invitation_resend_removable_idx" ON "invitation_resend" ("sent_at");
