-- A trace leads from the call that raised an event to the receivers of its deliveries, which other
-- processes make later. Only events of traced calls have it.

ALTER TABLE "event" ADD COLUMN "traceparent" text;
