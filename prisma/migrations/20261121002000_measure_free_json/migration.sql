-- The size of a row's free-form JSON, so that a page of a list can end before it is too large
-- without reading the JSON. Rows that are older have none until they are written again: a list
-- measures those itself. To measure them here would lock the tables for too long.

ALTER TABLE "training_case" ADD COLUMN "json_bytes" integer;
ALTER TABLE "training" ADD COLUMN "json_bytes" integer;

CREATE FUNCTION "measure_json_of_case"() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW."json_bytes" := coalesce(octet_length(NEW."fields"::text), 0)
    + coalesce(octet_length(NEW."external_ref"::text), 0);
  RETURN NEW;
END
$$;

CREATE TRIGGER "training_case_measure_json"
BEFORE INSERT OR UPDATE OF "fields", "external_ref" ON "training_case"
FOR EACH ROW EXECUTE FUNCTION "measure_json_of_case"();

CREATE FUNCTION "measure_json_of_training"() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW."json_bytes" := octet_length(NEW."external_ref"::text);
  RETURN NEW;
END
$$;

-- Most trainings have none, and cost nothing.
CREATE TRIGGER "training_measure_json"
BEFORE INSERT OR UPDATE OF "external_ref" ON "training"
FOR EACH ROW
WHEN (NEW."external_ref" IS NOT NULL OR NEW."json_bytes" IS NOT NULL)
EXECUTE FUNCTION "measure_json_of_training"();
