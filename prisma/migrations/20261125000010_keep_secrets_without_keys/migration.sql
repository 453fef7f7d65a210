-- Processes of 1.0.0 keep a response with a secret without a key, and over a row that has expired
-- with whatever that had. The check refused it, and with it the call. It may come back in the
-- version after the next release. This file came later than those after it.
ALTER TABLE "idempotency_record" DROP CONSTRAINT "idempotency_record_secret_check";
