-- The callers of the tRPC API are counted as API keys are, in the round trip that finds them.

-- Now takes the number of calls: one request of the tRPC API can hold several.
DROP FUNCTION "count_request"(text, integer, integer);

-- Counts calls in a bucket, unless there is no room for all of them. Returns the count, or null
-- when it is full. The row stays locked until the caller's transaction ends, so callers take the
-- bucket of a key or a person before the team's.
CREATE FUNCTION "count_request"(
  p_bucket text,
  p_limit integer,
  p_minute integer,
  p_calls integer DEFAULT 1
)
RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  IF p_calls > p_limit THEN RETURN NULL; END IF;
  LOOP
    UPDATE "rate_counter"
    SET
      "count" = CASE WHEN "minute" >= p_minute THEN "count" + p_calls ELSE p_calls END,
      "minute" = greatest("minute", p_minute)
    WHERE "bucket" = p_bucket AND ("minute" < p_minute OR "count" <= p_limit - p_calls)
    RETURNING "count" INTO counted;
    IF FOUND THEN RETURN counted; END IF;
    INSERT INTO "rate_counter" ("bucket", "minute", "count")
    VALUES (p_bucket, p_minute, p_calls)
    ON CONFLICT ("bucket") DO NOTHING;
    IF FOUND THEN RETURN p_calls; END IF;
    -- The row exists. Either it is full, or another request has inserted or changed it meanwhile.
    PERFORM
    FROM "rate_counter"
    WHERE "bucket" = p_bucket AND "minute" >= p_minute AND "count" > p_limit - p_calls;
    IF FOUND THEN RETURN NULL; END IF;
  END LOOP;
END
$$;

-- Finds the caller of the tRPC API and counts the calls of one request.
--  * p_team_id and p_user_id come from a verified token. They are null without one.
--  * The calls of an active member count for the person and for the app of the team together, or,
--    when either is full, for neither. The team's bucket is not that of its keys: a runaway
--    integration must not lock out the admin who is about to revoke its key.
--  * The calls of anybody else count for the caller's IPv4 address or IPv6 /64 network, in the
--    same bucket as requests without a valid key.
--  * p_now is null except in tests.
CREATE FUNCTION "authenticate_caller"(
  p_team_id text,
  p_user_id text,
  p_calls integer,
  p_ip text,
  p_person_limit integer,
  p_ip_limit integer,
  p_now timestamptz,
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
LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := coalesce(p_now, clock_timestamp());
  at_minute integer := floor(extract(epoch FROM at) / 60);
  -- The window that the calls count in: newer than at_minute if the request is late.
  window_minute integer := at_minute;
  own_bucket text;
  own_limit integer;
  own_count integer;
  team_bucket text := 'app:' || p_team_id;
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
  WHERE m."team_id" = p_team_id AND m."user_id" = p_user_id AND m."status" = 'active';

  IF member_id IS NULL THEN
    own_limit := p_ip_limit;
    own_bucket := 'ip:' || CASE
      WHEN family(p_ip::inet) = 6 THEN network(set_masklen(p_ip::inet, 64))::text
      ELSE coalesce(p_ip, '-')
    END;
  ELSE
    own_limit := p_person_limit;
    own_bucket := 'person:' || jsonb_build_array(p_team_id, p_user_id)::text;
  END IF;

  own_count := count_request(own_bucket, own_limit, window_minute, p_calls);
  window_minute := greatest(window_minute, (
    SELECT c."minute"
    FROM "rate_counter" c
    WHERE c."bucket" = own_bucket
  ));
  IF member_id IS NOT NULL AND own_count IS NOT NULL THEN
    team_count := count_request(team_bucket, rate_limit_per_min, window_minute, p_calls);
    window_minute := greatest(window_minute, (
      SELECT c."minute"
      FROM "rate_counter" c
      WHERE c."bucket" = team_bucket
    ));
    IF team_count IS NULL THEN
      -- The person's row has been locked since it was counted, so this is still the same window.
      UPDATE "rate_counter" c
      SET "count" = c."count" - p_calls
      WHERE c."bucket" = own_bucket;
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
