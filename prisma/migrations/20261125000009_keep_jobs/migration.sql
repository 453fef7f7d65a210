-- Jobs that committed with a change and that no worker has handed to graphile-worker yet.
CREATE TABLE "pending_job" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "task" text NOT NULL,
  "payload" json NOT NULL,
  "key" text,
  -- Jobs of one queue run one after the other.
  "queue" text,
  -- When the job runner refused it last; null: it did not. A refused job is set aside, so that it
  -- does not hold up the others.
  "refused_at" timestamptz(3),
  CONSTRAINT "pending_job_pkey" PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "pending_job_team_id_fkey" FOREIGN KEY ("team_id")
    REFERENCES "team" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION
);

-- A synchronization that is asked for during another one follows it.

-- When it was asked for; null: no round is wanted beyond the one that goes on.
ALTER TABLE "crm_connection" ADD COLUMN "sync_requested_at" timestamptz(3);
