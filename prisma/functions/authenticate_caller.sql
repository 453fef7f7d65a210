-- Finds the caller of the tRPC API and counts the calls of one request.
--  * p_team_id and p_user_id come from a verified token. They are null without one.
--  * The calls of an active member count for the person and for the app of the team together, or,
--    when either is full, for neither. The team's bucket is not that of its keys: a runaway
--    integration must not lock out the admin who is about to revoke its key.
--  * The calls of anybody else count for the caller's IPv4 address or IPv6 /64 network, in the
--    same bucket as requests without a valid key.
--  * Whoever has a spent token is nobody. p_token_id is null without a token.
--  * p_now is null except in tests.
--
-- See authenticate_api_key for enable_seqscan.
CREATE OR REPLACE FUNCTION "authenticate_caller"(
  p_team_id text,
  p_user_id text,
  p_calls integer,
  p_ip text,
  p_person_limit integer,
  p_ip_limit integer,
  p_now timestamptz,
  p_token_id text DEFAULT NULL,
  OUT "member_id" text,
  OUT "role" text,
  OUT "rights" text[],
  OUT "plan" text,
  OUT "team_status" text,
  OUT "language" text,
  OUT "rate_limit_per_min" integer,
  OUT "member_detail_enabled" boolean,
  OUT "leaderboard_enabled" boolean,
  OUT "counted" boolean,
  OUT "bucket_limit" integer,
  OUT "bucket_remaining" integer,
  OUT "reset_s" integer
)
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
  at timestamptz := coalesce(p_now, clock_timestamp());
  at_minute integer := floor(extract(epoch FROM at) / 60);
  window_minute integer;
BEGIN
  reset_s := 60 - floor(extract(epoch FROM at))::bigint % 60;
  SELECT
    m."id", m."role", m."rights",
    t."plan", t."status", t."language", t."rate_limit_per_min",
    t."member_detail_enabled", t."leaderboard_enabled"
  INTO
    member_id, role, rights,
    plan, team_status, language, rate_limit_per_min,
    member_detail_enabled, leaderboard_enabled
  FROM "member" m
  JOIN "team" t ON t."id" = m."team_id"
  WHERE m."team_id" = p_team_id
    AND m."user_id" = p_user_id
    AND m."status" = 'active'
    AND NOT EXISTS (
      SELECT
      FROM "spent_token" s
      WHERE s."team_id" = p_team_id AND s."id" = p_token_id
    );

  IF member_id IS NULL THEN
    SELECT c."counted", c."bucket_limit", c."bucket_remaining", c."minute"
    INTO counted, bucket_limit, bucket_remaining, window_minute
    FROM count_for_address(p_ip, p_ip_limit, at_minute, p_calls) c;
  ELSE
    SELECT c."counted", c."bucket_limit", c."bucket_remaining", c."minute"
    INTO counted, bucket_limit, bucket_remaining, window_minute
    FROM count_in_both(
      p_team_id, 'person:' || p_user_id, p_person_limit, 'app', rate_limit_per_min, at_minute,
      p_calls
    ) c;
  END IF;
  -- A late request has waited into a window that had just begun.
  IF window_minute > at_minute THEN reset_s := 60; END IF;
END
$$;
