-- Which limit has refused a call (core/limits.ts); null: none has, or a process of the version
-- before has written the row. Rows that exist are not written anew.
ALTER TABLE "request_log" ADD COLUMN "limited_by" text;
