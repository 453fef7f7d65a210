-- When the invitation was last mailed. An open one ends some time after that, so that its address
-- does not stay for ever. null: it was loaded from a seed file, and does not end by itself.
ALTER TABLE "member" ADD COLUMN "invitation_sent_at" timestamptz(3);

UPDATE "member"
SET "invitation_sent_at" = "invited_at"
WHERE "status" = 'invited';

CREATE INDEX "member_open_invitation_idx" ON "member" ("invitation_sent_at")
  WHERE "status" = 'invited';

-- Invitations that have ended without being accepted keep no address.
UPDATE "member"
SET "email" = NULL, "language" = NULL
WHERE "status" = 'ended' AND "user_id" IS NULL;
