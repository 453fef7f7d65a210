-- The code's registry of providers says which ones exist, so that a new one needs no migration.
ALTER TABLE "crm_connection"
  DROP CONSTRAINT "crm_connection_provider_check",
  ADD CONSTRAINT "crm_connection_provider_check" CHECK ("provider" ~ '^[a-z][a-z0-9_]{0,49}$');
