-- Which alerts a member wants by mail, and which they were told.
CREATE TABLE "alert_subscription" (
  "team_id" text NOT NULL,
  "member_id" text NOT NULL,
  -- Empty: none. The row goes when it is due, so that nobody gets two mails a day by changing it.
  "kinds" text[] NOT NULL,
  -- The alerts of the last mails that still stand. One that has passed may be told again.
  "told" text[] NOT NULL DEFAULT '{}',
  -- When a worker looks for new alerts.
  "next_check_at" timestamptz(3) NOT NULL,
  CONSTRAINT "alert_subscription_pkey" PRIMARY KEY ("team_id", "member_id")
);
SELECT distribute_by_team('alert_subscription');
ALTER TABLE "alert_subscription" ADD CONSTRAINT "alert_subscription_team_id_member_id_fkey"
  FOREIGN KEY ("team_id", "member_id") REFERENCES "member" ("team_id", "id")
  ON DELETE CASCADE ON UPDATE NO ACTION;
CREATE INDEX "alert_subscription_next_check_idx"
  ON "alert_subscription" ("next_check_at", "team_id", "member_id");

-- Keys that will end, without those that have been revoked: few of a team, however many it had.
CREATE INDEX "api_key_ending_idx" ON "api_key" ("team_id", "expires_at", "id")
  WHERE "revoked_at" IS NULL AND "expires_at" IS NOT NULL;
