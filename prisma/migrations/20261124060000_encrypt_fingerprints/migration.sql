-- "fingerprint" of an idempotency record is encrypted from now on: 73 bytes. The plain one, a
-- SHA-256 of 32 bytes, let whoever reads the table confirm an address that is no longer stored.
--
-- Takes the lock of an Idempotency-Key until the transaction ends and, only then, looks for its
-- record, as "begin_idempotent" did.
CREATE FUNCTION "begin_idempotent_call"(
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

-- For processes of the version before. They cannot compare an encrypted fingerprint, and would call
-- a repeated call a mismatch. They are told that the first call is still running: 409 with
-- Retry-After, until a newer process answers. The version after the next release drops it.
CREATE OR REPLACE FUNCTION "begin_idempotent"(
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
  SELECT b.* INTO locked, fingerprint, status, body, encrypted, location, open_body, key_id
  FROM "begin_idempotent_call"(p_team_id, p_key, p_valid_from) b;
  IF octet_length(fingerprint) > 32 THEN
    locked := false;
  END IF;
END
$$;
