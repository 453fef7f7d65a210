-- These forms were in no release: a database has them if an unreleased commit has migrated it. What
-- has these names from now on is what processes of 1.0.0 call.
DROP FUNCTION IF EXISTS
  "authenticate_request"(text, bytea, bytea, text, integer, integer, timestamptz, text);

DO $$
BEGIN
  IF EXISTS (
    SELECT
    FROM pg_proc
    WHERE oid = to_regprocedure('begin_idempotent(text, text, timestamptz)')
      AND 'key_id' = ANY (proargnames)
  ) THEN
    DROP FUNCTION "begin_idempotent"(text, text, timestamptz);
  END IF;
END
$$;
