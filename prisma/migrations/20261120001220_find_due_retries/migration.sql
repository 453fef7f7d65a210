-- Retries in the order in which they become due, over all teams.
CREATE INDEX "webhook_delivery_due_idx" ON "webhook_delivery" ("next_try_at", "id")
  WHERE "status" = 'retrying' AND "claimed_by" IS NULL;

-- When a webhook endpoint was last set to active. Workers look for its waiting deliveries then.
ALTER TABLE "webhook_endpoint" ADD COLUMN "activated_at" timestamptz(3);
CREATE INDEX "webhook_endpoint_activated_idx" ON "webhook_endpoint" ("activated_at")
  WHERE "activated_at" IS NOT NULL;
