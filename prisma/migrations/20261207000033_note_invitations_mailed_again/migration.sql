-- An invitation ends some time after it was mailed last. 1.0.0 keeps that for a day, and then only
-- the audit log has it. This reads the whole log, so it is a file of its own.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    UPDATE "member" m
    SET "invitation_sent_at" = again."sent_at"
    FROM (
      SELECT "team_id", "target_id", max("created_at") AS "sent_at"
      FROM "audit_log"
      WHERE "action" = 'member.invitation_resent'
      GROUP BY "team_id", "target_id"
    ) again
    WHERE m."team_id" = again."team_id" AND m."id" = again."target_id"
      AND m."status" = 'invited' AND m."invitation_sent_at" < again."sent_at";
  END IF;
END
$$;
