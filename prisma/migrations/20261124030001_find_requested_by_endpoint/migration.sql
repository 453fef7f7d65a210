-- Requested attempts wait like first attempts and retries, and are found by their endpoints. This
-- reads the table once, and deliveries wait meanwhile: 1 s for a million. Workers of the version
-- before read the whole index, which holds only what is requested.
CREATE INDEX "webhook_delivery_requested_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "id")
  WHERE "urgent";
