-- The removal of the other kinds reads one range of an index, too.
CREATE INDEX "webhook_resend_finished_idx" ON "webhook_resend" ("finished_at")
  WHERE "finished_at" IS NOT NULL;
CREATE INDEX "invitation_resend_removable_idx" ON "invitation_resend" ("sent_at");

-- The deletion of a webhook endpoint removes only its row. Its deliveries and resends belong to no
-- endpoint from then on, and a job removes them in batches: a cascade over a million deliveries
-- takes longer than a statement may.
ALTER TABLE "webhook_delivery" DROP CONSTRAINT "webhook_delivery_team_id_endpoint_id_fkey";
ALTER TABLE "webhook_resend" DROP CONSTRAINT "webhook_resend_team_id_endpoint_id_fkey";

-- A bulk resend may be limited to one type of event. NULL: every type.
ALTER TABLE "webhook_resend" ADD COLUMN "event_type" text;

-- A bulk resend may end before it began. NULL: with what was created when it began.
ALTER TABLE "webhook_resend" ADD COLUMN "until" timestamptz(3);
