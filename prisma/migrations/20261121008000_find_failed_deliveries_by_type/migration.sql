-- A resend of one type of event reads a range of this index, however many others have failed. A
-- delivery that succeeds at once has no entry in it.
CREATE INDEX "webhook_delivery_failed_type_idx"
  ON "webhook_delivery" ("team_id", "endpoint_id", "event_type", "created_at", "id")
  WHERE "status" IN ('retrying', 'gave_up');
