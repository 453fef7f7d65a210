-- Lets the session make the plans anew that it has kept, those of foreign keys too. On Citus a
-- statement takes it to the node that has the rows of a team, where DISCARD does not come.
CREATE OR REPLACE FUNCTION "discard_plans"() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DISCARD PLANS;
END
$$;
