-- The deliveries of endpoints that processes of 1.0.0 deleted before the triggers were there. This
-- reads all deliveries, so it holds no lock that anybody waits for: it is a file of its own.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
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
