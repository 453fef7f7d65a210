-- Takes the lock of an Idempotency-Key until the transaction ends and, only then, looks for its
-- record: a record that another call committed between the two is seen. locked = false: that other
-- call is still running.
CREATE OR REPLACE FUNCTION "begin_idempotent_call"(
  p_team_id text,
  p_key text,
  p_valid_from timestamptz,
  OUT "locked" boolean,
  OUT "fingerprint" bytea,
  OUT "status" integer,
  OUT "body" bytea,
  OUT "encrypted" boolean,
  OUT "location" text,
  OUT "open_body" bytea,
  OUT "key_id" text
)
LANGUAGE plpgsql AS $$
BEGIN
  locked := pg_try_advisory_xact_lock(
    hashtextextended('idempotency:' || length(p_team_id) || ':' || p_team_id || p_key, 0)
  );
  IF locked THEN
    SELECT
      r."fingerprint", r."status", r."body", r."encrypted", r."location", r."open_body", r."key_id"
    INTO fingerprint, status, body, encrypted, location, open_body, key_id
    FROM "idempotency_record" r
    WHERE r."team_id" = p_team_id AND r."key" = p_key AND r."created_at" >= p_valid_from;
  END IF;
END
$$;
