-- The figure of waiting retries counts the next ones of live teams. Those of sandboxes may be very
-- many: they must neither be among them, nor have to be read.
CREATE INDEX CONCURRENTLY "webhook_delivery_live_due_idx" ON "webhook_delivery" ("due_at", "id")
WHERE "waits_as" = 'retrying' AND "team_id" NOT LIKE '%:sandbox';
