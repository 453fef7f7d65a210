-- A text encrypted with the APP_SECRET of this database. Processes with another secret cannot open
-- it and refuse to start. At most one row.

CREATE TABLE "app_secret_canary" (
  "id" boolean NOT NULL DEFAULT true,
  "sealed" bytea NOT NULL,
  CONSTRAINT "app_secret_canary_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "app_secret_canary_one_row_check" CHECK ("id")
);
