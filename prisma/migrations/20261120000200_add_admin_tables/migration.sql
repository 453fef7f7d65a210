-- What the app's admins see and start: attempts that failed, deliveries sent again in bulk, invitations mailed again, use of the keys.

-- One attempt that failed; of each delivery the last ten. One that succeeded is the delivery's last and stands in its row, so a delivery that succeeds at
-- once writes nothing here.
CREATE TABLE "webhook_attempt" (
  "team_id" text NOT NULL,
  "delivery_id" text NOT NULL,
  "attempt" integer NOT NULL,
  "ended_at" timestamptz(3) NOT NULL,
  "response_code" integer,
  "response_ms" integer,
  "error" text,
  PRIMARY KEY ("team_id", "delivery_id", "attempt"),
  CONSTRAINT "webhook_attempt_team_id_delivery_id_fkey" FOREIGN KEY ("team_id", "delivery_id") REFERENCES "webhook_delivery" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);

-- Deliveries that failed, by endpoint, newest first: for the admins' list and for sending them again. One that succeeds at once never enters it.
CREATE INDEX "webhook_delivery_failed_idx" ON "webhook_delivery" ("team_id", "endpoint_id", "created_at" DESC, "id" DESC)
  WHERE "status" IN ('retrying', 'gave_up');

-- Failed deliveries of one endpoint that are sent again, oldest first.
CREATE TABLE "webhook_resend" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "endpoint_id" text NOT NULL,
  "state" text NOT NULL DEFAULT 'running',
  -- Deliveries that were created from here on, and before created_at.
  "since" timestamptz(3) NOT NULL,
  -- How many it was to be when it began.
  "total" integer NOT NULL,
  -- There were more than one resend takes.
  "has_more" boolean NOT NULL,
  "sent" integer NOT NULL DEFAULT 0,
  -- The last one that was sent again: where it goes on.
  "position_at" timestamptz(3),
  "position_id" text,
  "created_at" timestamptz(3) NOT NULL,
  "finished_at" timestamptz(3),
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "webhook_resend_id_check" CHECK ("id" <> ''),
  CONSTRAINT "webhook_resend_state_check" CHECK ("state" IN ('running', 'done', 'cancelled')),
  CONSTRAINT "webhook_resend_finished_check" CHECK (("state" = 'running') = ("finished_at" IS NULL)),
  CONSTRAINT "webhook_resend_position_check" CHECK (num_nulls("position_at", "position_id") <> 1),
  CONSTRAINT "webhook_resend_team_id_endpoint_id_fkey" FOREIGN KEY ("team_id", "endpoint_id") REFERENCES "webhook_endpoint" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "webhook_resend_one_running_key" ON "webhook_resend" ("team_id", "endpoint_id") WHERE "state" = 'running';
CREATE INDEX "webhook_resend_endpoint_idx" ON "webhook_resend" ("team_id", "endpoint_id");

-- An invitation that was mailed again; the hourly limit counts these beside member.invited_at.
CREATE TABLE "invitation_resend" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  "member_id" text NOT NULL,
  "sent_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("team_id", "id"),
  CONSTRAINT "invitation_resend_id_check" CHECK ("id" <> ''),
  CONSTRAINT "invitation_resend_team_id_member_id_fkey" FOREIGN KEY ("team_id", "member_id") REFERENCES "member" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "invitation_resend_sent_at_idx" ON "invitation_resend" ("team_id", "sent_at");

-- Requests of a key on a day (UTC), by how they were answered. 429 is not among count_4xx.
CREATE TABLE "api_key_usage" (
  "team_id" text NOT NULL,
  "day" date NOT NULL,
  "key_id" text NOT NULL,
  "count_2xx" integer NOT NULL DEFAULT 0,
  "count_4xx" integer NOT NULL DEFAULT 0,
  "count_429" integer NOT NULL DEFAULT 0,
  "count_5xx" integer NOT NULL DEFAULT 0,
  PRIMARY KEY ("team_id", "day", "key_id"),
  CONSTRAINT "api_key_usage_team_id_key_id_fkey" FOREIGN KEY ("team_id", "key_id") REFERENCES "api_key" ("team_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
) WITH (fillfactor = 50);
CREATE INDEX "api_key_usage_day_idx" ON "api_key_usage" ("day");
