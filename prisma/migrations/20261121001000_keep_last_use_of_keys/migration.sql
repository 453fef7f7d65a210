-- The rate counters are unlogged, so a standby that becomes the primary has none. What an admin
-- sees of a key's last use must outlive that.

ALTER TABLE "api_key" ADD COLUMN "last_used_at" timestamptz(3);

UPDATE "api_key" k
SET "last_used_at" = to_timestamp(c."minute" * 60::float8)
FROM "rate_counter" c
WHERE c."bucket" = 'key:' || k."prefix";
