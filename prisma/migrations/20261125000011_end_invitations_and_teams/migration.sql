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

-- When the host application asked for the erasure of the team. From then on it is unknown to every
-- caller, and a job removes its rows. Only a team that has ended is erased.
ALTER TABLE "team"
  ADD COLUMN "erasing_since" timestamptz(3),
  ADD CONSTRAINT "team_erasing_check" CHECK ("erasing_since" IS NULL OR "status" = 'ended');

CREATE INDEX "team_erasing_idx" ON "team" ("erasing_since")
  WHERE "erasing_since" IS NOT NULL;
