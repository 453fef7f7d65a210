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
-- See authenticate_request for enable_seqscan.
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
  -- The window that the calls count in: newer than at_minute if the request is late.
  window_minute integer := at_minute;
  own_bucket text;
  own_limit integer;
  own_count integer;
  team_count integer;
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
    own_limit := p_ip_limit;
    own_bucket := 'ip:' || CASE
      WHEN family(p_ip::inet) = 6 THEN network(set_masklen(p_ip::inet, 64))::text
      ELSE coalesce(p_ip, '-')
    END;
    own_count := count_request(own_bucket, own_limit, window_minute, p_calls);
    window_minute := greatest(window_minute, (
      SELECT c."minute"
      FROM "rate_counter" c
      WHERE c."bucket" = own_bucket
    ));
  ELSE
    own_limit := p_person_limit;
    own_bucket := 'person:' || p_user_id;
    own_count := count_in_team(p_team_id, own_bucket, own_limit, window_minute, p_calls);
    window_minute := greatest(window_minute, (
      SELECT c."minute"
      FROM "team_counter" c
      WHERE c."team_id" = p_team_id
        AND c."bucket" = own_bucket
    ));
  END IF;
  IF member_id IS NOT NULL AND own_count IS NOT NULL THEN
    team_count := count_in_team(p_team_id, 'app', rate_limit_per_min, window_minute, p_calls);
    window_minute := greatest(window_minute, (
      SELECT c."minute"
      FROM "team_counter" c
      WHERE c."team_id" = p_team_id
        AND c."bucket" = 'app'
    ));
    IF team_count IS NULL THEN
      -- The person's row has been locked since it was counted, so this is still the same window.
      UPDATE "team_counter" c
      SET "count" = c."count" - p_calls
      WHERE c."team_id" = p_team_id
        AND c."bucket" = own_bucket;
    END IF;
  END IF;
  -- A late request has waited into a window that had just begun.
  IF window_minute > at_minute THEN reset_s := 60; END IF;

  counted := own_count IS NOT NULL AND (member_id IS NULL OR team_count IS NOT NULL);
  -- The tighter of the two is the one with less left, and of equals the smaller one.
  IF member_id IS NULL
    OR own_count IS NULL
    OR (team_count IS NOT NULL
      AND (own_limit - own_count, own_limit)
        <= (rate_limit_per_min - team_count, rate_limit_per_min))
  THEN
    bucket_limit := own_limit;
    bucket_remaining := CASE WHEN counted THEN own_limit - own_count ELSE 0 END;
  ELSE
    bucket_limit := rate_limit_per_min;
    bucket_remaining := CASE WHEN counted THEN rate_limit_per_min - team_count ELSE 0 END;
  END IF;
END
$$;
