-- The owner and the admins, who are few. All others follow in the order of the list. The order by
-- address needs no index: the unique one of live addresses has it.
CREATE INDEX CONCURRENTLY "member_admin_idx"
  ON "member" ("team_id", "role" DESC, "created_at" DESC, "id" DESC)
  WHERE "role" <> 'member' AND "status" <> 'ended';
