-- A synchronization that is asked for during another one follows it.

-- When it was asked for; null: no round is wanted beyond the one that goes on.
ALTER TABLE "crm_connection" ADD COLUMN "sync_requested_at" timestamptz(3);
