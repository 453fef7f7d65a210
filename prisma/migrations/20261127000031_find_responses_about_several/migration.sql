-- Partial, because few responses are about more than one. Ids of members are random, so the team
-- need not be in it.
CREATE INDEX "idempotency_record_others_idx" ON "idempotency_record" USING gin ("other_subject_ids")
  WHERE "other_subject_ids" IS NOT NULL;
