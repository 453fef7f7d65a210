-- The connection that an objection's deal came from, so that an index can hold the objections of
-- one connection in the order of the list. Neither a deal's connection nor an objection's deal ever
-- changes. A trigger fills the column in, also for processes of the previous version, which run on
-- until they are replaced.

ALTER TABLE "crm_objection" ADD COLUMN "connection_id" text;

-- Looks the deal up by its primary key whatever the planner knows. The plan is made once for a
-- session. One made for an empty table would read all of the team's deals for each row of a large
-- load.
CREATE FUNCTION "set_connection_of_objection"() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
  NEW."connection_id" := (
    SELECT d."connection_id"
    FROM (
      SELECT "team_id", "id", "connection_id"
      FROM "crm_deal"
      WHERE ("team_id", "id") >= (NEW."team_id", NEW."deal_id")
      ORDER BY "team_id", "id"
      LIMIT 1
    ) d
    WHERE d."team_id" = NEW."team_id" AND d."id" = NEW."deal_id"
  );
  RETURN NEW;
END
$$;

CREATE TRIGGER "crm_objection_set_connection"
BEFORE INSERT ON "crm_objection"
FOR EACH ROW EXECUTE FUNCTION "set_connection_of_objection"();
