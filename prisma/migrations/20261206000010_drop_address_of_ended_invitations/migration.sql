-- Invitations that ended in a seed file kept their address, where the deletion of a person did not
-- look for it. The loader leaves it out since then.
UPDATE "member"
SET "email" = NULL, "language" = NULL
WHERE "status" = 'ended' AND "user_id" IS NULL AND ("email" IS NOT NULL OR "language" IS NOT NULL);
