-- Authenticates and counts one request.
--  * The secret is compared blinded: the caller sends a random nonce and SHA-256(its hash of the
--    secret || nonce). The sender of a key cannot predict what is compared, so the time that the
--    comparison takes tells nothing. An unknown prefix costs the same comparison.
--  * All rows are of the key's team, in one shard on Citus. A caller that knows the team of the
--    prefix says it; a prefix never changes its team. Otherwise the directory is asked.
--  * A request with a valid key counts for the key and the team together, or, when either is full,
--    for neither. Any other request counts for the IPv4 address or IPv6 /64 network of p_counted.
--    It is p_ip, or, if a proxy did not send the caller's address, that of the proxy, which no
--    allowed_ips may match.
--  * key_fault says why a key is not valid. It is for the log alone: no response may depend on it.
--  * used_percent is how much of the key's or of the team's limit is used, whichever is more; null
--    without a valid key.
--  * A sandbox whose simulated suspension should have ended is active: keys do not wait for the job
--    that ends it.
--  * p_now is null except in tests. Windows and expiry follow the database's clock, which all
--    processes share.
--
-- The tables are read by index, whatever the planner knows. The counters are unlogged, so they are
-- empty after a crash or a failover, when every session makes its plans. A plan for an empty table
-- reads all of it, and is kept until the table is analyzed: with 100,000 teams, a request took
-- 50 ms of Postgres' time.
CREATE OR REPLACE FUNCTION "authenticate_api_key"(
  p_prefix text,
  p_nonce bytea,
  p_proof bytea,
  p_ip text,
  p_key_limit integer,
  p_ip_limit integer,
  p_now timestamptz,
  p_team_id text DEFAULT NULL,
  p_counted text DEFAULT NULL,
  OUT "key_id" text,
  OUT "team_id" text,
  OUT "scopes" text,
  OUT "creator_id" text,
  OUT "creator_role" text,
  OUT "creator_status" text,
  OUT "plan" text,
  OUT "team_status" text,
  OUT "language" text,
  OUT "rate_limit_per_min" integer,
  OUT "member_detail_enabled" boolean,
  OUT "leaderboard_enabled" boolean,
  OUT "counted" boolean,
  OUT "bucket_limit" integer,
  OUT "bucket_remaining" integer,
  OUT "used_percent" integer,
  OUT "reset_s" integer,
  OUT "key_fault" text
)
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
  of_team text := p_team_id;
  found_key record;
  at timestamptz := coalesce(p_now, clock_timestamp());
  at_minute integer := floor(extract(epoch FROM at) / 60);
  window_minute integer;
  proven boolean;
BEGIN
  reset_s := 60 - floor(extract(epoch FROM at))::bigint % 60;
  IF of_team IS NULL THEN
    SELECT d."team_id"
    INTO of_team
    FROM "key_directory" d
    WHERE d."prefix" = p_prefix;
  END IF;
  SELECT
    k."id", k."secret_hash", k."scopes", k."created_by",
    m."role", m."status" AS "creator_status",
    t."plan", t."language", t."rate_limit_per_min",
    t."member_detail_enabled", t."leaderboard_enabled",
    CASE
      WHEN t."status" = 'suspended' AND EXISTS (
        SELECT
        FROM "sandbox" s
        WHERE s."team_id" = t."id" AND s."suspended_until" <= at
      ) THEN 'active'
      ELSE t."status"
    END AS "status",
    CASE
      WHEN k."revoked_at" <= at THEN 'revoked'
      WHEN k."expires_at" <= at THEN 'expired'
      WHEN k."allowed_ips" IS NOT NULL
        AND NOT coalesce(p_ip::inet <<= ANY (k."allowed_ips"), false) THEN 'other_address'
    END AS "fault"
  INTO found_key
  FROM "api_key" k
  JOIN "team" t ON t."id" = k."team_id"
  JOIN "member" m ON m."team_id" = k."team_id" AND m."id" = k."created_by"
  WHERE k."team_id" = of_team AND k."prefix" = p_prefix;
  proven := p_proof
    = sha256(coalesce(found_key."secret_hash", sha256('unknown prefix')) || p_nonce);

  key_fault := CASE
    WHEN found_key."id" IS NULL THEN 'unknown'
    WHEN NOT coalesce(proven, false) THEN 'wrong_secret'
    ELSE found_key."fault"
  END;
  IF key_fault IS NOT NULL THEN
    SELECT c."counted", c."bucket_limit", c."bucket_remaining", c."minute"
    INTO counted, bucket_limit, bucket_remaining, window_minute
    FROM count_for_address(coalesce(p_counted, p_ip), p_ip_limit, at_minute, 1) c;
    -- A late request has waited into a window that had just begun.
    IF window_minute > at_minute THEN reset_s := 60; END IF;
    RETURN;
  END IF;

  key_id := found_key."id";
  team_id := of_team;
  scopes := array_to_string(found_key."scopes", ' ');
  creator_id := found_key."created_by";
  creator_role := found_key."role";
  creator_status := found_key."creator_status";
  plan := found_key."plan";
  team_status := found_key."status";
  language := found_key."language";
  rate_limit_per_min := found_key."rate_limit_per_min";
  member_detail_enabled := found_key."member_detail_enabled";
  leaderboard_enabled := found_key."leaderboard_enabled";

  SELECT c."counted", c."bucket_limit", c."bucket_remaining", c."used_percent", c."minute"
  INTO counted, bucket_limit, bucket_remaining, used_percent, window_minute
  FROM count_in_both(
    of_team, 'key:' || p_prefix, p_key_limit, 'keys', rate_limit_per_min, at_minute, 1
  ) c;
  IF window_minute > at_minute THEN reset_s := 60; END IF;
END
$$;
