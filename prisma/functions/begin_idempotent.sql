-- For processes of the version before. They cannot compare an encrypted fingerprint, and would call
-- a repeated call a mismatch. They are told that the first call is still running: 409, until a
-- newer process answers. The version after the next release drops it.
-- Another column would fail them all: they call it by `select *`, prepared.
CREATE OR REPLACE FUNCTION "begin_idempotent"(
  p_team_id text,
  p_key text,
  p_valid_from timestamptz,
  OUT "locked" boolean,
  OUT "fingerprint" bytea,
  OUT "status" integer,
  OUT "body" bytea,
  OUT "encrypted" boolean,
  OUT "location" text
)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT b."locked", b."fingerprint", b."status", b."body", b."encrypted", b."location"
  INTO locked, fingerprint, status, body, encrypted, location
  FROM "begin_idempotent_call"(p_team_id, p_key, p_valid_from) b;
  IF octet_length(fingerprint) > 32 THEN
    locked := false;
  END IF;
END
$$;
