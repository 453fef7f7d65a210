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

    INSERT INTO "pending_job" ("team_id", "id", "task", "payload", "key", "queue")
    SELECT
      gone."team_id",
      'job_' || gen_random_uuid(),
      'remove_deliveries',
      json_build_object('teamId', gone."team_id", 'endpointId', gone."endpoint_id"),
      concat_ws(':', 'remove_deliveries', gone."team_id", gone."endpoint_id"),
      'removals'
    FROM (
      SELECT "team_id", "endpoint_id"
      FROM "webhook_delivery"
      UNION
      SELECT "team_id", "endpoint_id"
      FROM "webhook_resend"
    ) gone
    WHERE NOT EXISTS (
      SELECT
      FROM "webhook_endpoint" w
      WHERE w."team_id" = gone."team_id" AND w."id" = gone."endpoint_id"
    );
  END IF;
END
$$;
