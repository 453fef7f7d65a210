-- The response of a batch is about several members: the private fields of all of them go from it
-- with the first one that leaves.
ALTER TABLE "idempotency_record" ADD COLUMN "other_subject_ids" text[];
