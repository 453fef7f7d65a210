-- Links that show a key once. What is sealed here opens only with the link: the secret in the link
-- makes the key that it is sealed with, and the link's server part is stored as a hash.
CREATE TABLE "handover" (
  "team_id" text NOT NULL,
  -- A hash: nothing can be opened with it.
  "id" text NOT NULL,
  "key_id" text NOT NULL,
  "created_by" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "expires_at" timestamptz(3) NOT NULL,
  "opened_at" timestamptz(3),
  -- Null: the link was opened or withdrawn.
  "sealed" bytea,
  CONSTRAINT "handover_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "handover_id_check" CHECK ("id" ~ '^[0-9A-Za-z_-]{43}$'),
  CONSTRAINT "handover_sealed_check" CHECK (octet_length("sealed") BETWEEN 1 AND 1024),
  CONSTRAINT "handover_opened_check" CHECK ("opened_at" IS NULL OR "sealed" IS NULL)
);
SELECT distribute_by_team('handover');
ALTER TABLE "handover"
  ADD CONSTRAINT "handover_team_id_fkey"
    FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  ADD CONSTRAINT "handover_team_id_key_id_fkey"
    FOREIGN KEY ("team_id", "key_id") REFERENCES "api_key" ("team_id", "id")
    ON DELETE NO ACTION ON UPDATE NO ACTION,
  ADD CONSTRAINT "handover_team_id_created_by_fkey"
    FOREIGN KEY ("team_id", "created_by") REFERENCES "member" ("team_id", "id")
    ON DELETE NO ACTION ON UPDATE NO ACTION;
CREATE INDEX "handover_list_idx" ON "handover" ("team_id", "created_at" DESC, "id" DESC);
-- Counts the links that can still be opened.
CREATE INDEX "handover_open_idx" ON "handover" ("team_id", "expires_at")
  WHERE "sealed" IS NOT NULL;
-- The removal of old rows reads a range of it.
CREATE INDEX "handover_expires_at_idx" ON "handover" ("expires_at");
-- The foreign keys look for rows by these.
CREATE INDEX "handover_key_idx" ON "handover" ("team_id", "key_id");
CREATE INDEX "handover_creator_idx" ON "handover" ("team_id", "created_by");
