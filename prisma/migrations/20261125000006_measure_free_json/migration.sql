-- The size of a row's free-form JSON, so that a page of a list can end before it is too large
-- without reading the JSON. Rows that are older have none until they are written again: a list
-- measures those itself. To measure them here would lock the tables for too long.

ALTER TABLE "training_case" ADD COLUMN "json_bytes" integer;
ALTER TABLE "training" ADD COLUMN "json_bytes" integer;
