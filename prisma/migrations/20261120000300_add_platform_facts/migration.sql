-- SHA-256 over what the team was created with, so that a repeated creation is told from another one; null: not made by the platform.
ALTER TABLE "team" ADD COLUMN "creation_hash" bytea;
ALTER TABLE "team" ADD CONSTRAINT "team_creation_hash_check" CHECK (octet_length("creation_hash") = 32);

-- A deleted person's address goes from their memberships, all of which have ended.
ALTER TABLE "member" ALTER COLUMN "email" DROP NOT NULL;
ALTER TABLE "member" ADD CONSTRAINT "member_live_has_email_check" CHECK ("status" = 'ended' OR "email" IS NOT NULL);
