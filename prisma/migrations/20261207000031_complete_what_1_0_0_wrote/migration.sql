-- What processes of 1.0.0 wrote before the triggers of the last migration were there, and after the
-- migrations that had filled it in.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    UPDATE "member"
    SET "invitation_sent_at" = "invited_at"
    WHERE "status" = 'invited' AND "invited_at" IS NOT NULL AND "invitation_sent_at" IS NULL;

    UPDATE "member"
    SET "email" = NULL, "language" = NULL
    WHERE "status" = 'ended' AND "user_id" IS NULL AND "email" IS NOT NULL;
  END IF;
END
$$;
