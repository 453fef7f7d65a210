-- Processes of the version before run on until they are replaced, after migrations have filled in
-- once what this version writes. What they go on writing is completed as they write it. Citus has
-- no triggers on distributed tables, and no process of 1.0.0.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    -- An open invitation ends some time after its mail, and one that has ended keeps no address.
    CREATE FUNCTION "complete_invitation"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      IF NEW."status" = 'invited' THEN
        NEW."invitation_sent_at" := NEW."invited_at";
      ELSE
        NEW."email" := NULL;
        NEW."language" := NULL;
      END IF;
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "member_invitation"
    BEFORE INSERT OR UPDATE ON "member"
    FOR EACH ROW
    WHEN (
      NEW."status" = 'invited'
        AND NEW."invited_at" IS NOT NULL
        AND NEW."invitation_sent_at" IS NULL
      OR NEW."status" = 'ended' AND NEW."user_id" IS NULL AND NEW."email" IS NOT NULL
    )
    EXECUTE FUNCTION "complete_invitation"();

    -- An invitation that is mailed again ends some time after that mail.
    CREATE FUNCTION "note_resend"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      UPDATE "member"
      SET "invitation_sent_at" = NEW."sent_at"
      WHERE "team_id" = NEW."team_id" AND "id" = NEW."member_id"
        AND "invitation_sent_at" < NEW."sent_at";
      RETURN NULL;
    END
    $function$;

    CREATE TRIGGER "invitation_resend_sent"
    AFTER INSERT ON "invitation_resend"
    FOR EACH ROW
    EXECUTE FUNCTION "note_resend"();

    -- Beside a response that shows an address is kept what it is without, and whose it is: the
    -- address goes with the privacy switch, and with the member. 1.0.0 keeps neither, and leaves
    -- those of an expired response that it writes over. Its fingerprints are plain.
    CREATE FUNCTION "keep_without_address"() RETURNS trigger
    LANGUAGE plpgsql
    -- As the other triggers do: the assignment is found by its key.
    SET enable_seqscan = off
    AS $function$
    DECLARE
      whole jsonb := convert_from(NEW."body", 'UTF8');
      open jsonb := whole - 'email';
    BEGIN
      IF whole ? 'member_email' THEN
        open := whole || '{"member_email": null}';
      END IF;
      NEW."open_body" := NULL;
      NEW."key_id" := NULL;
      NEW."subject_id" := NULL;
      NEW."other_subject_ids" := NULL;
      IF open <> whole THEN
        NEW."open_body" := convert_to(open::text, 'UTF8');
        NEW."subject_id" := coalesce(
          (
            SELECT "member_id"
            FROM "assignment"
            WHERE "team_id" = NEW."team_id" AND "id" = whole ->> 'id'
          ),
          whole ->> 'id'
        );
      END IF;
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "idempotency_record_address"
    BEFORE INSERT OR UPDATE ON "idempotency_record"
    FOR EACH ROW
    WHEN (
      octet_length(NEW."fingerprint") <= 32
        AND NOT NEW."encrypted"
        AND NEW."location" SIMILAR TO '/api/public/v1/(users|assignments)/%'
    )
    EXECUTE FUNCTION "keep_without_address"();

    -- Nothing cascades from a deleted webhook endpoint. This version enqueues the job itself, in
    -- the same transaction: the trigger looks at its end.
    CREATE FUNCTION "remove_deliveries_of_endpoint"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    DECLARE
      job_key text := concat_ws(':', 'remove_deliveries', OLD."team_id", OLD."id");
    BEGIN
      INSERT INTO "pending_job" ("team_id", "id", "task", "payload", "key", "queue")
      SELECT
        OLD."team_id",
        'job_' || gen_random_uuid(),
        'remove_deliveries',
        json_build_object('teamId', OLD."team_id", 'endpointId', OLD."id"),
        job_key,
        'removals'
      -- The erasure of a team removes them itself.
      WHERE EXISTS (
          SELECT
          FROM "team"
          WHERE "id" = OLD."team_id" AND "erasing_since" IS NULL
        )
        AND NOT EXISTS (
          SELECT
          FROM "pending_job"
          WHERE "team_id" = OLD."team_id" AND "key" = job_key
        )
        AND NOT EXISTS (
          SELECT
          FROM "webhook_endpoint"
          WHERE "team_id" = OLD."team_id" AND "id" = OLD."id"
        )
        AND (
          EXISTS (
            SELECT
            FROM "webhook_delivery"
            WHERE "team_id" = OLD."team_id" AND "endpoint_id" = OLD."id"
          )
          OR EXISTS (
            SELECT
            FROM "webhook_resend"
            WHERE "team_id" = OLD."team_id" AND "endpoint_id" = OLD."id"
          )
        );
      RETURN NULL;
    END
    $function$;

    CREATE CONSTRAINT TRIGGER "webhook_endpoint_removal"
    AFTER DELETE ON "webhook_endpoint"
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW
    EXECUTE FUNCTION "remove_deliveries_of_endpoint"();
  END IF;
END
$$;
