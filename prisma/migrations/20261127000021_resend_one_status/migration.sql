-- A bulk resend may be limited to one of the two statuses of failed deliveries. NULL: both.
ALTER TABLE "webhook_resend" ADD COLUMN "status" text;
