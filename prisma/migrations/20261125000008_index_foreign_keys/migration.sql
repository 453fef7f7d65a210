-- Each foreign key has an index that begins with its columns. Without one, Postgres looks for the
-- children of each deleted row among all entries of the team, also those of rows that are deleted
-- already: to erase 500 people of a team that had 100,000 cases took longer than a statement may.

CREATE INDEX "crm_deal_owner_idx" ON "crm_deal" ("team_id", "owner_user_id")
  WHERE "owner_user_id" IS NOT NULL;
CREATE INDEX "training_case_person_idx" ON "training_case" ("team_id", "user_id");
CREATE INDEX "api_key_creator_idx" ON "api_key" ("team_id", "created_by");
CREATE INDEX "api_key_usage_key_idx" ON "api_key_usage" ("team_id", "key_id");
CREATE INDEX "invitation_resend_member_idx"
  ON "invitation_resend" ("team_id", "member_id");
CREATE INDEX "announcement_mail_member_idx"
  ON "announcement_mail" ("team_id", "member_id");
