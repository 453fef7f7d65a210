-- Who was mailed in which announcement (npm run announce), so that one that was interrupted goes on where it was, and mails nobody twice.

CREATE TABLE "announcement_mail" (
  "team_id" text NOT NULL,
  "announcement" text NOT NULL,
  "member_id" text NOT NULL,
  "sent_at" timestamptz(3) NOT NULL,
  CONSTRAINT "announcement_mail_pkey" PRIMARY KEY ("team_id", "announcement", "member_id"),
  CONSTRAINT "announcement_mail_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id") REFERENCES "member" ("team_id", "id")
    ON DELETE CASCADE ON UPDATE NO ACTION
);
