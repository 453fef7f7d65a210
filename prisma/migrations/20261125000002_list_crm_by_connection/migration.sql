-- Lists of the CRM show the rows of active connections. Each connection is one range of an index,
-- so the rows of a paused one are never read.

UPDATE "crm_objection" o
SET "connection_id" = d."connection_id"
FROM "crm_deal" d
WHERE d."team_id" = o."team_id" AND d."id" = o."deal_id" AND o."connection_id" IS NULL;

ALTER TABLE "crm_objection" ALTER COLUMN "connection_id" SET NOT NULL;

DROP INDEX "crm_objection_list_idx";
CREATE INDEX "crm_objection_list_idx"
  ON "crm_objection" ("team_id", "connection_id", "created_at" DESC, "id" DESC);

DROP INDEX "crm_deal_list_idx";
CREATE INDEX "crm_deal_list_idx"
  ON "crm_deal" ("team_id", "connection_id", "created_at" DESC, "id" DESC);
