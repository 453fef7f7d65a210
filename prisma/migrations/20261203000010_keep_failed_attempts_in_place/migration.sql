-- A delivery keeps its failed attempts, ten at most, in its own row: whoever removes a delivery, or
-- shows it, need not look for them. Nearly all deliveries have none, and null takes no room.
ALTER TABLE "webhook_delivery" ADD COLUMN "failed_attempts" jsonb;

-- The table of attempts stays for workers of the version before, which write it, and goes with the
-- next release. Without the foreign key, nobody who deletes a delivery looks there any more.
ALTER TABLE "webhook_attempt" DROP CONSTRAINT "webhook_attempt_team_id_delivery_id_fkey";
