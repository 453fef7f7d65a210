-- A bulk resend may end before it began. NULL: with what was created when it began.
ALTER TABLE "webhook_resend" ADD COLUMN "until" timestamptz(3);
