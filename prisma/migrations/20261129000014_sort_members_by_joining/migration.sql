-- By when they joined. Whoever is only invited joins after all others. One more entry is written
-- when a member is invited and when they join; a change of their role writes none.
CREATE INDEX CONCURRENTLY "member_joined_idx"
  ON "member" (
    "team_id",
    (coalesce("joined_at", timestamptz '9999-12-31 00:00:00+00')) DESC,
    "id" DESC
  )
  WHERE "status" <> 'ended';
