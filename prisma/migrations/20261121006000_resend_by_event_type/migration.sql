-- A bulk resend may be limited to one type of event. NULL: every type.
ALTER TABLE "webhook_resend" ADD COLUMN "event_type" text;
