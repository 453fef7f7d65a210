-- A sandbox is a team whose id ends with ":sandbox" (src/core/sandbox.ts).
DO $$
BEGIN
  IF EXISTS (SELECT FROM "team" WHERE "id" LIKE '%:sandbox') THEN
    RAISE EXCEPTION 'A team has an id that ends with ":sandbox"'
      USING HINT = 'From this version on such ids are those of sandboxes. Erase the team first.';
  END IF;
END
$$;

-- The prefix of a test key begins with "t". So a live key never opens a sandbox, and a test key no
-- live team, whatever writes the rows.
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_mode_check"
  CHECK (("prefix" LIKE 't%') = ("team_id" LIKE '%:sandbox'));
ALTER TABLE "key_directory" ADD CONSTRAINT "key_directory_mode_check"
  CHECK (("prefix" LIKE 't%') = ("team_id" LIKE '%:sandbox'));

-- What a sandbox has beside a team.
CREATE TABLE "sandbox" (
  "team_id" text NOT NULL,
  -- A team is one sandbox at most.
  "id" text NOT NULL DEFAULT 'sandbox',
  -- What the last reset has filled it with.
  "scenario" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "reset_at" timestamptz(3) NOT NULL,
  -- The retry schedule of its webhook endpoints runs so many times as fast.
  "speed" integer NOT NULL DEFAULT 1,
  -- Played: until then, the host application has suspended the team.
  "suspended_until" timestamptz(3),
  -- Played: until then, each receiver answers 503 without being asked.
  "receivers_fail_until" timestamptz(3),
  -- When its admins were told that it goes, because nobody uses it.
  "warned_at" timestamptz(3),
  -- The last use that is known: a call with a key, a change or a reset. What tells of it is kept
  -- for 30 days only.
  "used_at" timestamptz(3) NOT NULL,
  -- When somebody looks at it again, to find out whether it is used.
  "check_at" timestamptz(3) NOT NULL,
  CONSTRAINT "sandbox_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "sandbox_id_check" CHECK ("id" = 'sandbox'),
  CONSTRAINT "sandbox_team_id_check" CHECK ("team_id" LIKE '_%:sandbox'),
  CONSTRAINT "sandbox_scenario_check" CHECK ("scenario" IN ('empty', 'typical', 'large')),
  CONSTRAINT "sandbox_speed_check" CHECK ("speed" BETWEEN 1 AND 1000)
);
SELECT distribute_by_team('sandbox');
ALTER TABLE "sandbox" ADD CONSTRAINT "sandbox_team_id_fkey"
  FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
CREATE INDEX "sandbox_check_at_idx" ON "sandbox" ("check_at");

-- Usage and the audit log of sandboxes are kept for less time than those of live teams
-- (src/features/retention/rules.ts).
CREATE INDEX "api_key_usage_sandbox_idx" ON "api_key_usage" ("day")
  WHERE "team_id" LIKE '%:sandbox';
CREATE INDEX "audit_log_sandbox_idx" ON "audit_log" ("created_at")
  WHERE "team_id" LIKE '%:sandbox';

-- Mails that a live team would have sent. Nobody gets them.
CREATE TABLE "sandbox_mail" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "recipient" text NOT NULL,
  "subject" text NOT NULL,
  "body" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  CONSTRAINT "sandbox_mail_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "sandbox_mail_id_check" CHECK ("id" <> '')
);
SELECT distribute_by_team('sandbox_mail');
ALTER TABLE "sandbox_mail" ADD CONSTRAINT "sandbox_mail_team_id_fkey"
  FOREIGN KEY ("team_id") REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
CREATE INDEX "sandbox_mail_list_idx"
  ON "sandbox_mail" ("team_id", "created_at" DESC, "id" DESC);
-- The removal of old rows reads a range of it.
CREATE INDEX "sandbox_mail_created_at_idx" ON "sandbox_mail" ("created_at");

-- A job may wait for its time. null: it does not.
ALTER TABLE "pending_job" ADD COLUMN "run_at" timestamptz(3);
