-- Event types are declared in src/core/events.ts. The database checks only their form, so that a new
-- type needs no migration.
--
-- NOT VALID skips the check of existing rows, which would scan the tables under an exclusive lock.
-- They passed the stricter checks that are dropped here.

ALTER TABLE "event" DROP CONSTRAINT "event_type_check";
ALTER TABLE "event" ADD CONSTRAINT "event_type_check"
  CHECK ("type" ~ '^[a-z_]+([.][a-z_]+)*$') NOT VALID;

-- array_to_string skips nulls, so they need a check of their own.
ALTER TABLE "webhook_endpoint" DROP CONSTRAINT "webhook_endpoint_events_check";
ALTER TABLE "webhook_endpoint" ADD CONSTRAINT "webhook_endpoint_events_check"
  CHECK (
    array_position("events", NULL) IS NULL
    AND array_to_string("events", ',') ~ '^[a-z_]+([.][a-z_]+)*(,[a-z_]+([.][a-z_]+)*)*$'
  ) NOT VALID;
