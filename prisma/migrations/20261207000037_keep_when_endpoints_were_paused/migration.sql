-- When the endpoint was last active before a pause. What happened until then is still sent to it,
-- however late the fan-out is. Null: it was never paused, or by a process of the version before.
ALTER TABLE "webhook_endpoint" ADD COLUMN "paused_at" timestamptz(3);
