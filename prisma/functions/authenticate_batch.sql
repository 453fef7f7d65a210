-- For processes that do not know used_percent yet. See authenticate_api_keys.
CREATE OR REPLACE FUNCTION "authenticate_batch"(
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
  "reset_s" integer
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT
    a."key_id", a."team_id", a."scopes", a."creator_id", a."creator_role", a."creator_status",
    a."plan", a."team_status", a."language", a."rate_limit_per_min",
    a."member_detail_enabled", a."leaderboard_enabled",
    a."counted", a."bucket_limit", a."bucket_remaining", a."reset_s"
  FROM "authenticate_api_keys"(
    p_team_ids, p_prefixes, p_proofs, p_ips, p_calls, p_nonce, p_now, p_key_limit
  ) a;
END
$$;
