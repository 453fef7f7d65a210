-- For migrations that create a table with rows of one team: call this after CREATE TABLE, and add
-- foreign keys afterwards. On a distributed database (Citus) it puts the table beside the others of
-- the team. On plain Postgres it does nothing.
CREATE FUNCTION "distribute_by_team"(p_table regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN RETURN; END IF;
  PERFORM
  FROM "pg_dist_partition"
  WHERE "logicalrelid" = to_regclass('team');
  IF FOUND THEN
    PERFORM create_distributed_table(p_table, 'team_id', colocate_with => 'team');
  END IF;
END
$$;
