-- Counts calls in the caller's own bucket and in the one that it shares with others of the team,
-- or, when either is full, in neither. Both rows stay locked until the caller's transaction ends.
-- The own bucket is locked first, so callers lock both in the same order. The limit and the rest
-- are those of the tighter one: the one with less left, and of equals the smaller one.
-- "used_percent" is the larger share of the two, which may be the other one's. "minute" is the
-- window that the calls count in, newer than p_minute if they are late.
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
  bucket_names text[] := ARRAY[p_own_bucket, p_shared_bucket];
  limits integer[] := ARRAY[p_own_limit, p_shared_limit];
  counts integer[] := ARRAY[NULL, NULL]::integer[];
  found_count integer;
  found_minute integer;
BEGIN
  minute := p_minute;
  FOR n IN 1 .. 2 LOOP
    EXIT WHEN p_calls > limits[n];
    INSERT INTO "team_counter" AS c ("team_id", "bucket", "minute", "count")
    VALUES (p_team_id, bucket_names[n], minute, p_calls)
    ON CONFLICT ("team_id", "bucket") DO UPDATE
    SET
      "count" = CASE WHEN c."minute" >= excluded."minute" THEN c."count" + p_calls ELSE p_calls END,
      "minute" = greatest(c."minute", excluded."minute")
    WHERE c."minute" < excluded."minute" OR c."count" <= limits[n] - p_calls
    RETURNING c."count", c."minute" INTO found_count, found_minute;
    EXIT WHEN NOT FOUND;
    counts[n] := found_count;
    minute := found_minute;
  END LOOP;
  counted := counts[2] IS NOT NULL;
  IF NOT counted THEN
    minute := greatest(minute, (
      SELECT c."minute"
      FROM "team_counter" c
      WHERE c."team_id" = p_team_id
        AND c."bucket" = CASE WHEN counts[1] IS NULL THEN p_own_bucket ELSE p_shared_bucket END
    ));
    -- The own row has been locked since it was counted, so this is still the same window.
    IF counts[1] IS NOT NULL THEN
      UPDATE "team_counter" c
      SET "count" = c."count" - p_calls
      WHERE c."team_id" = p_team_id AND c."bucket" = p_own_bucket;
    END IF;
  END IF;
  used_percent := CASE
    WHEN counted THEN greatest(
      round(100.0 * counts[1] / p_own_limit),
      round(100.0 * counts[2] / p_shared_limit)
    )
    ELSE 100
  END;
  IF counts[1] IS NULL OR (counted
    AND (p_own_limit - counts[1], p_own_limit) <= (p_shared_limit - counts[2], p_shared_limit))
  THEN
    bucket_limit := p_own_limit;
    bucket_remaining := CASE WHEN counted THEN p_own_limit - counts[1] ELSE 0 END;
  ELSE
    bucket_limit := p_shared_limit;
    bucket_remaining := CASE WHEN counted THEN p_shared_limit - counts[2] ELSE 0 END;
  END IF;
END
$$;
