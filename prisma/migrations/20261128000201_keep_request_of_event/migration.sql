-- The request that raised an event, for the operator who asks where a webhook is. No index: the
-- event of a request is found by its team and its time, which are those of the audit entry. NULL:
-- the event is of the version before.
ALTER TABLE "event" ADD COLUMN "request_id" text;
