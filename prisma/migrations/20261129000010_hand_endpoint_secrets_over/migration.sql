-- A link hands over an API key, or the signing secret of a webhook endpoint. Processes of the
-- version before make links to keys only. The table holds the links of a day, so this is quick.
ALTER TABLE "handover"
  ALTER COLUMN "key_id" DROP NOT NULL,
  ADD COLUMN "endpoint_id" text;
ALTER TABLE "handover"
  ADD CONSTRAINT "handover_subject_check" CHECK (num_nonnulls("key_id", "endpoint_id") = 1);
-- The link goes with the endpoint. It cascades, so that processes of the version before, which do
-- not know of such links, can delete an endpoint and erase a team.
ALTER TABLE "handover"
  ADD CONSTRAINT "handover_team_id_endpoint_id_fkey"
    FOREIGN KEY ("team_id", "endpoint_id") REFERENCES "webhook_endpoint" ("team_id", "id")
    ON DELETE CASCADE ON UPDATE NO ACTION;
