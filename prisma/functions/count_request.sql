-- Counts calls in a bucket, unless there is no room for all of them. Returns the count, or null
-- when it is full. The row stays locked until the caller's transaction ends, so callers take the
-- bucket of a key or a person before the team's.
CREATE OR REPLACE FUNCTION "count_request"(
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
