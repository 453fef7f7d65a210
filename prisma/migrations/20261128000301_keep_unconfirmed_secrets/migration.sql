-- When the present secret of an endpoint was shown to a person who has not confirmed that they
-- stored it. Null: somebody has confirmed it, a program has it, or it is of the version before.
ALTER TABLE "webhook_endpoint" ADD COLUMN "secret_unconfirmed_since" timestamptz(3);
