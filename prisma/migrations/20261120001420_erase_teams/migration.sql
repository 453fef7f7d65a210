-- When the host application asked for the erasure of the team. From then on it is unknown to every
-- caller, and a job removes its rows. Only a team that has ended is erased.
ALTER TABLE "team"
  ADD COLUMN "erasing_since" timestamptz(3),
  ADD CONSTRAINT "team_erasing_check" CHECK ("erasing_since" IS NULL OR "status" = 'ended');

CREATE INDEX "team_erasing_idx" ON "team" ("erasing_since")
  WHERE "erasing_since" IS NOT NULL;
