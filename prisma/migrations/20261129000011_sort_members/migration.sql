-- Orders of the members that the admin page offers. The order by address needs no index: the unique
-- one of live addresses has it.
--
-- By when they joined. Whoever is only invited joins after all others. One more entry is written
-- when a member is invited and when they join; a change of their role writes none.
CREATE INDEX "member_joined_idx"
  ON "member" (
    "team_id",
    (coalesce("joined_at", timestamptz '9999-12-31 00:00:00+00')) DESC,
    "id" DESC
  )
  WHERE "status" <> 'ended';
-- The owner and the admins, who are few. All others follow in the order of the list.
CREATE INDEX "member_admin_idx"
  ON "member" ("team_id", "role" DESC, "created_at" DESC, "id" DESC)
  WHERE "role" <> 'member' AND "status" <> 'ended';
