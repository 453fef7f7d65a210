-- Counts calls in the caller's own bucket and in the one that it shares with others of the team,
-- or, when either is full, in neither. The own bucket is locked first, so callers lock both in the
-- same order. The limit and the rest are those of the tighter one: the one with less left, and of
-- equals the smaller one. "used_percent" is the larger share of the two, which may be the other
-- one's. "minute" is the window that the calls count in, newer than p_minute if they are late.
CREATE OR REPLACE FUNCTION "count_in_both"(
  p_team_id text,
  p_own_bucket text,
  p_own_limit integer,
  p_shared_bucket text,
  p_shared_limit integer,
  p_minute integer,
  p_calls integer,
  OUT "counted" boolean,
  OUT "bucket_limit" integer,
  OUT "bucket_remaining" integer,
  OUT "used_percent" integer,
  OUT "minute" integer
)
LANGUAGE plpgsql AS $$
DECLARE
  own_count integer := count_in_team(p_team_id, p_own_bucket, p_own_limit, p_minute, p_calls);
  shared_count integer;
BEGIN
  minute := greatest(p_minute, (
    SELECT c."minute"
    FROM "team_counter" c
    WHERE c."team_id" = p_team_id AND c."bucket" = p_own_bucket
  ));
  IF own_count IS NOT NULL THEN
    shared_count := count_in_team(p_team_id, p_shared_bucket, p_shared_limit, minute, p_calls);
    minute := greatest(minute, (
      SELECT c."minute"
      FROM "team_counter" c
      WHERE c."team_id" = p_team_id AND c."bucket" = p_shared_bucket
    ));
    IF shared_count IS NULL THEN
      -- The own row has been locked since it was counted, so this is still the same window.
      UPDATE "team_counter" c
      SET "count" = c."count" - p_calls
      WHERE c."team_id" = p_team_id AND c."bucket" = p_own_bucket;
    END IF;
  END IF;
  counted := shared_count IS NOT NULL;
  used_percent := CASE
    WHEN counted THEN
      greatest(round(100.0 * own_count / p_own_limit), round(100.0 * shared_count / p_shared_limit))
    ELSE 100
  END;
  IF own_count IS NULL OR (counted
    AND (p_own_limit - own_count, p_own_limit) <= (p_shared_limit - shared_count, p_shared_limit))
  THEN
    bucket_limit := p_own_limit;
    bucket_remaining := CASE WHEN counted THEN p_own_limit - own_count ELSE 0 END;
  ELSE
    bucket_limit := p_shared_limit;
    bucket_remaining := CASE WHEN counted THEN p_shared_limit - shared_count ELSE 0 END;
  END IF;
END
$$;
