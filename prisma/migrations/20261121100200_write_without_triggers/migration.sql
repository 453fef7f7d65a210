-- Citus has no triggers on distributed tables. The statements write what these have written.
-- Those that fill a column in for processes of the previous version stay until the tables are
-- distributed.
DROP TRIGGER "training_case_measure_json" ON "training_case";
DROP TRIGGER "training_measure_json" ON "training";
DROP TRIGGER "webhook_delivery_removed" ON "webhook_delivery";
DROP FUNCTION "measure_json_of_case"();
DROP FUNCTION "measure_json_of_training"();
DROP FUNCTION "release_kept_events"();
