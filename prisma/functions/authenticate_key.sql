-- For processes that do not know used_percent yet. See authenticate_api_key.
CREATE OR REPLACE FUNCTION "authenticate_key"(
  p_prefix text,
  p_nonce bytea,
  p_proof bytea,
  p_ip text,
  p_key_limit integer,
  p_ip_limit integer,
  p_now timestamptz,
  p_team_id text DEFAULT NULL,
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
  OUT "reset_s" integer,
  OUT "key_fault" text
)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT
    a."key_id", a."team_id", a."scopes", a."creator_id", a."creator_role", a."creator_status",
    a."plan", a."team_status", a."language", a."rate_limit_per_min",
    a."member_detail_enabled", a."leaderboard_enabled",
    a."counted", a."bucket_limit", a."bucket_remaining", a."reset_s", a."key_fault"
  INTO
    key_id, team_id, scopes, creator_id, creator_role, creator_status,
    plan, team_status, language, rate_limit_per_min,
    member_detail_enabled, leaderboard_enabled,
    counted, bucket_limit, bucket_remaining, reset_s, key_fault
  FROM "authenticate_api_key"(
    p_prefix, p_nonce, p_proof, p_ip, p_key_limit, p_ip_limit, p_now, p_team_id
  ) a;
END
$$;
