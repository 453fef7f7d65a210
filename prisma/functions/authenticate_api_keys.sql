-- What authenticate_api_key does in the usual case, for many keys in one statement: the key is
-- valid, its team is active, and both counters have room. A key that it does not return was not
-- counted and is asked for alone. So is one with a counter of a later minute, and one whose
-- counters somebody else holds: this waits for no lock, and no team for another one. So it need not
-- lock the counters of a key and a team in the order of count_in_both. Each team may be given only
-- once. A function, because a statement cannot have the setting.
CREATE OR REPLACE FUNCTION "authenticate_api_keys"(
  p_team_ids text[],
  p_prefixes text[],
  p_proofs bytea[],
  p_ips text[],
  p_calls integer[],
  p_nonce bytea,
  p_now timestamptz,
  p_key_limit integer
)
RETURNS TABLE (
  "key_id" text,
  "team_id" text,
  "scopes" text,
  "creator_id" text,
  "creator_role" text,
  "creator_status" text,
  "plan" text,
  "team_status" text,
  "language" text,
  "rate_limit_per_min" integer,
  "member_detail_enabled" boolean,
  "leaderboard_enabled" boolean,
  "counted" boolean,
  "bucket_limit" integer,
  "bucket_remaining" integer,
  "used_percent" integer,
  "reset_s" integer
)
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  at timestamptz := coalesce(p_now, clock_timestamp());
  at_minute integer := floor(extract(epoch FROM at) / 60);
  s_left integer := 60 - floor(extract(epoch FROM at))::bigint % 60;
BEGIN
  RETURN QUERY
  WITH known AS MATERIALIZED (
    SELECT n.calls, k."prefix", k."id" AS key_id, k."team_id", k."scopes",
      k."created_by", m."role", m."status" AS creator_status,
      t."plan", t."status", t."language", t."rate_limit_per_min",
      t."member_detail_enabled", t."leaderboard_enabled"
    FROM unnest(p_team_ids, p_prefixes, p_proofs, p_ips, p_calls)
      AS n (team_id, prefix, proof, ip, calls)
    JOIN "api_key" k ON k."team_id" = n.team_id AND k."prefix" = n.prefix
    JOIN "team" t ON t."id" = k."team_id"
    JOIN "member" m ON m."team_id" = k."team_id" AND m."id" = k."created_by"
    WHERE n.proof = sha256(k."secret_hash" || p_nonce)
      AND t."status" = 'active'
      AND (k."revoked_at" IS NULL OR k."revoked_at" > at)
      AND (k."expires_at" IS NULL OR k."expires_at" > at)
      AND (k."allowed_ips" IS NULL OR n.ip::inet <<= ANY (k."allowed_ips"))
  ), held AS MATERIALIZED (
    SELECT known.*,
      p_key_limit - calls
        - CASE WHEN of_key."minute" = at_minute THEN of_key."count" ELSE 0 END AS key_remaining,
      "rate_limit_per_min" - calls
        - CASE WHEN of_keys."minute" = at_minute THEN of_keys."count" ELSE 0 END AS team_remaining
    FROM known
    JOIN "team_counter" of_key ON of_key."team_id" = known."team_id"
      AND of_key."bucket" = 'key:' || known."prefix"
      AND of_key."minute" <= at_minute
    JOIN "team_counter" of_keys ON of_keys."team_id" = known."team_id"
      AND of_keys."bucket" = 'keys'
      AND of_keys."minute" <= at_minute
    FOR UPDATE OF of_key, of_keys SKIP LOCKED
  ), room AS MATERIALIZED (
    SELECT *
    FROM held
    WHERE key_remaining >= 0 AND team_remaining >= 0
  ), counted AS (
    UPDATE "team_counter" c
    SET
      "count" = CASE WHEN c."minute" = at_minute THEN c."count" + r.calls ELSE r.calls END,
      "minute" = at_minute
    FROM room r
    WHERE c."team_id" = r."team_id" AND c."bucket" = ANY (ARRAY['keys', 'key:' || r."prefix"])
  )
  SELECT r.key_id, r."team_id", array_to_string(r."scopes", ' '),
    r."created_by", r."role", r.creator_status, r."plan", r."status", r."language",
    r."rate_limit_per_min", r."member_detail_enabled", r."leaderboard_enabled",
    true,
    -- The tighter of the two is the one with less left, and of equals the smaller one.
    CASE WHEN key_is_tighter THEN p_key_limit ELSE r."rate_limit_per_min" END,
    CASE WHEN key_is_tighter THEN key_remaining ELSE team_remaining END,
    100 - least(
      round(100.0 * key_remaining / p_key_limit),
      round(100.0 * team_remaining / r."rate_limit_per_min")
    )::integer,
    s_left
  FROM (
    SELECT *,
      (key_remaining, p_key_limit) <= (team_remaining, "rate_limit_per_min") AS key_is_tighter
    FROM room
  ) r;
END
$$;
