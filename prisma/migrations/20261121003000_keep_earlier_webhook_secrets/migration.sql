-- After a rotation, deliveries are also signed with earlier secrets for a while. The encrypted text
-- is a JSON list of them with their ends; the other column is the last of these ends.
ALTER TABLE "webhook_endpoint"
  ADD COLUMN "earlier_secrets_encrypted" bytea,
  ADD COLUMN "earlier_secrets_until" timestamptz(3);
