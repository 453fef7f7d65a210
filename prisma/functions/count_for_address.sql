-- Counts calls without a valid key or member for the caller's IPv4 address or IPv6 /64 network: an
-- IPv6 caller has at least a /64, so a limit per single address would not limit it. "minute" is
-- the window that they count in, newer than p_minute if they are late.
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
DECLARE
  ip_bucket text := 'ip:' || CASE
    WHEN family(p_ip::inet) = 6 THEN network(set_masklen(p_ip::inet, 64))::text
    ELSE coalesce(p_ip, '-')
  END;
  ip_count integer := count_request(ip_bucket, p_limit, p_minute, p_calls);
BEGIN
  counted := ip_count IS NOT NULL;
  bucket_limit := p_limit;
  bucket_remaining := p_limit - coalesce(ip_count, p_limit);
  minute := greatest(p_minute, (
    SELECT c."minute"
    FROM "rate_counter" c
    WHERE c."bucket" = ip_bucket
  ));
END
$$;
