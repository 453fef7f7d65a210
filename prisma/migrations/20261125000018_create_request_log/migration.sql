-- The calls of teams' API keys in the last seven days. Each day has one of ten partitions, in turn:
-- the day's number modulo ten. So a day is removed by emptying its partition, and no partition has
-- to be made in time. There is no foreign key: it would lock a key's row for each request.
CREATE TABLE "request_log" (
  "team_id" text NOT NULL,
  "slot" integer NOT NULL,
  "id" text NOT NULL,
  "created_at" timestamptz(3) NOT NULL,
  "key_id" text NOT NULL,
  "method" text NOT NULL,
  "route" text NOT NULL,
  "status" integer NOT NULL,
  "duration_ms" integer NOT NULL,
  "network" text,
  "error_code" text,
  "errors" json,
  CONSTRAINT "request_log_pkey" PRIMARY KEY ("team_id", "slot", "id")
) PARTITION BY LIST ("slot");
CREATE SCHEMA "request_days";
CREATE TABLE "request_days"."day_0" PARTITION OF "request_log" FOR VALUES IN (0);
CREATE TABLE "request_days"."day_1" PARTITION OF "request_log" FOR VALUES IN (1);
CREATE TABLE "request_days"."day_2" PARTITION OF "request_log" FOR VALUES IN (2);
CREATE TABLE "request_days"."day_3" PARTITION OF "request_log" FOR VALUES IN (3);
CREATE TABLE "request_days"."day_4" PARTITION OF "request_log" FOR VALUES IN (4);
CREATE TABLE "request_days"."day_5" PARTITION OF "request_log" FOR VALUES IN (5);
CREATE TABLE "request_days"."day_6" PARTITION OF "request_log" FOR VALUES IN (6);
CREATE TABLE "request_days"."day_7" PARTITION OF "request_log" FOR VALUES IN (7);
CREATE TABLE "request_days"."day_8" PARTITION OF "request_log" FOR VALUES IN (8);
CREATE TABLE "request_days"."day_9" PARTITION OF "request_log" FOR VALUES IN (9);
CREATE INDEX "request_log_list_idx" ON "request_log" ("team_id", "created_at" DESC, "id" DESC);
