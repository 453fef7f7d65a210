-- Counts calls without a valid key or member for the caller's IPv4 address or IPv6 /64 network,
-- unless there is no room for all of them. An IPv6 caller has at least a /64, so a limit per single
-- address would not limit it. "minute" is the window that they count in, newer than p_minute if
-- they are late.
CREATE OR REPLACE FUNCTION "count_for_address"(
  p_ip text,
  p_limit integer,
  p_minute integer,
  p_calls integer,
  OUT "counted" boolean,
  OUT "bucket_limit" integer,
  OUT "bucket_remaining" integer,
  OUT "minute" integer
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  ip_bucket text := 'ip:' || CASE
    WHEN family(p_ip::inet) = 6 THEN network(set_masklen(p_ip::inet, 64))::text
    ELSE coalesce(p_ip, '-')
  END;
  ip_count integer;
BEGIN
  IF p_calls <= p_limit THEN
    INSERT INTO "rate_counter" AS c ("bucket", "minute", "count")
    VALUES (ip_bucket, p_minute, p_calls)
    ON CONFLICT ("bucket") DO UPDATE
    SET
      "count" = CASE WHEN c."minute" >= p_minute THEN c."count" + p_calls ELSE p_calls END,
      "minute" = greatest(c."minute", p_minute)
    WHERE c."minute" < p_minute OR c."count" <= p_limit - p_calls
    RETURNING c."count", c."minute" INTO ip_count, minute;
  END IF;
  IF ip_count IS NULL THEN
    minute := greatest(p_minute, (
      SELECT c."minute"
      FROM "rate_counter" c
      WHERE c."bucket" = ip_bucket
    ));
  END IF;
  counted := ip_count IS NOT NULL;
  bucket_limit := p_limit;
  bucket_remaining := p_limit - coalesce(ip_count, p_limit);
END
$$;
