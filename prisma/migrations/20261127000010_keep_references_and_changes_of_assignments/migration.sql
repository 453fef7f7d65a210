-- What the customer's own system calls an assignment, and when it was changed last. Rows of before
-- have null: they count as changed when they were created. No row is touched.
ALTER TABLE "assignment"
  ADD COLUMN "external_ref" json,
  ADD COLUMN "updated_at" timestamptz(3);

-- NOT VALID skips the check of existing rows, which would scan the table under an exclusive lock.
ALTER TABLE "assignment"
  ADD CONSTRAINT "assignment_external_ref_check"
  CHECK (json_typeof("external_ref") = 'object') NOT VALID;

-- Processes of the previous version change assignments until they are replaced, and do not say
-- when. Others do, and then the trigger does not run. Citus has none on distributed tables: what
-- those processes change there is not found as changed.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    CREATE FUNCTION "set_change_of_assignment"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      NEW."updated_at" := clock_timestamp();
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "assignment_change"
    BEFORE UPDATE ON "assignment"
    FOR EACH ROW
    WHEN (NEW."updated_at" IS NOT DISTINCT FROM OLD."updated_at")
    EXECUTE FUNCTION "set_change_of_assignment"();
  END IF;
END
$$;
