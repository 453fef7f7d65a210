-- A kept response whose private fields not everybody may see at any time is kept in two forms:
-- "body" is whole, "open_body" is without them.

ALTER TABLE "idempotency_record"
  -- null: the response has no private fields.
  ADD COLUMN "open_body" bytea,
  -- The API key that alone may see the whole body, because it holds a secret. null: the privacy
  -- switches decide.
  ADD COLUMN "key_id" text,
  -- The member or webhook endpoint that the private fields belong to. They go with it.
  ADD COLUMN "subject_id" text;

-- The responses of the last 24 hours were kept whole. Whose they are is not known, so their private
-- fields go now.
UPDATE "idempotency_record" r
SET
  "encrypted" = false,
  "body" = convert_to(
    json_build_object(
      'id', w."id",
      'url', w."url",
      'events', w."events",
      'status', w."status",
      'api_version', w."api_version",
      'description', w."description",
      'created_at', to_char(r."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'last_success_at', NULL
    )::text,
    'UTF8'
  )
FROM "webhook_endpoint" w
WHERE r."encrypted"
  AND w."team_id" = r."team_id"
  AND r."location" = '/api/public/v1/webhook-endpoints/' || w."id";

-- The endpoint is gone already.
DELETE FROM "idempotency_record"
WHERE "encrypted";

UPDATE "idempotency_record"
SET "body" = convert_to((convert_from("body", 'UTF8')::jsonb - 'email')::text, 'UTF8')
WHERE "location" LIKE '/api/public/v1/users/%';

UPDATE "idempotency_record"
SET "body" = convert_to(
  (convert_from("body", 'UTF8')::jsonb || '{"member_email": null}')::text,
  'UTF8'
)
WHERE "location" LIKE '/api/public/v1/assignments/%';

ALTER TABLE "idempotency_record"
  ADD CONSTRAINT "idempotency_record_private_check"
    CHECK (("open_body" IS NULL) = ("subject_id" IS NULL)),
  ADD CONSTRAINT "idempotency_record_secret_check"
    CHECK ("encrypted" = ("key_id" IS NOT NULL) AND (NOT "encrypted" OR "open_body" IS NOT NULL));

CREATE INDEX "idempotency_record_subject_idx" ON "idempotency_record" ("team_id", "subject_id")
  WHERE "subject_id" IS NOT NULL;

-- "fingerprint" of an idempotency record is encrypted from now on: 73 bytes. The plain one, a
-- SHA-256 of 32 bytes, let whoever reads the table confirm an address that is no longer stored.
