-- Jobs that committed with a change and that no worker has handed to graphile-worker yet.
CREATE TABLE "pending_job" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "task" text NOT NULL,
  "payload" json NOT NULL,
  "key" text,
  CONSTRAINT "pending_job_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "pending_job_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);
