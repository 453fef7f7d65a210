-- The deletion of a webhook endpoint removes only its row. Its deliveries and resends belong to no
-- endpoint from then on, and a job removes them in batches: a cascade over a million deliveries
-- takes longer than a statement may.
ALTER TABLE "webhook_delivery" DROP CONSTRAINT "webhook_delivery_team_id_endpoint_id_fkey";
ALTER TABLE "webhook_resend" DROP CONSTRAINT "webhook_resend_team_id_endpoint_id_fkey";

-- Jobs of one queue run one after the other.
ALTER TABLE "pending_job" ADD COLUMN "queue" text;
