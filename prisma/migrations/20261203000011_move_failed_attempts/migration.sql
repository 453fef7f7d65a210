-- Failed attempts so far. Those that workers of the version before add from now on are not shown;
-- the last attempt of each delivery is, which its row has had before.
UPDATE "webhook_delivery" d
SET "failed_attempts" = a."kept"
FROM (
  SELECT "team_id", "delivery_id",
    jsonb_agg(
      jsonb_build_object(
        'attempt', "attempt",
        'ended_at', to_char("ended_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'response_code', "response_code",
        'response_ms', "response_ms",
        'error', "error"
      )
      ORDER BY "attempt"
    ) AS "kept"
  FROM "webhook_attempt"
  GROUP BY "team_id", "delivery_id"
) a
WHERE d."team_id" = a."team_id" AND d."id" = a."delivery_id";
