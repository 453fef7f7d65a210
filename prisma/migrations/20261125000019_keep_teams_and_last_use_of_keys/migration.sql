-- The rate counters are unlogged, so a standby that becomes the primary has none. What an admin
-- sees of a key's last use must outlive that.

ALTER TABLE "api_key" ADD COLUMN "last_used_at" timestamptz(3);

UPDATE "api_key" k
SET "last_used_at" = to_timestamp(c."minute" * 60::float8)
FROM "rate_counter" c
WHERE c."bucket" = 'key:' || k."prefix";

-- Which team a key's prefix belongs to, so that authentication then reads rows of one team only.
-- There is no foreign key: on Citus this table is on every node, and "api_key" is distributed.
CREATE TABLE "key_directory" (
  "prefix" text NOT NULL,
  "team_id" text NOT NULL,
  CONSTRAINT "key_directory_pkey" PRIMARY KEY ("prefix")
);
CREATE INDEX "key_directory_team_id_idx" ON "key_directory" ("team_id");

-- Processes of the previous version create keys until they are replaced, and write no entry. The
-- step that distributes the tables drops this trigger, since Citus has none on distributed tables.
CREATE FUNCTION "add_to_key_directory"() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "key_directory" ("prefix", "team_id")
  VALUES (NEW."prefix", NEW."team_id")
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE TRIGGER "api_key_directory"
AFTER INSERT ON "api_key"
FOR EACH ROW EXECUTE FUNCTION "add_to_key_directory"();

-- The trigger's lock is held, so no key is created meanwhile.
INSERT INTO "key_directory" ("prefix", "team_id")
SELECT "prefix", "team_id"
FROM "api_key";

-- The directory keeps prefixes unique. A unique index of a distributed table has the team in it.
CREATE UNIQUE INDEX "api_key_team_id_prefix_key" ON "api_key" ("team_id", "prefix");
DROP INDEX "api_key_prefix_key";
