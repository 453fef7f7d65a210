-- What processes of 1.0.0 change leaves columns that they do not know as they were. See
-- `complete_what_1_0_0_writes`.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    -- An endpoint that is active again begins its three days anew, and workers look for what waited
    -- for it. This version never keeps hours of failures without the time of the first.
    CREATE FUNCTION "begin_failures_anew"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      IF NEW."failing_since" IS NULL THEN
        NEW."hourly_failures" := '{}';
      END IF;
      IF NEW."status" = 'active' AND OLD."status" <> 'active' THEN
        NEW."activated_at" := clock_timestamp();
      END IF;
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "webhook_endpoint_resumed"
    BEFORE UPDATE ON "webhook_endpoint"
    FOR EACH ROW
    WHEN (
      NEW."failing_since" IS NULL AND cardinality(NEW."hourly_failures") > 0
      OR NEW."status" = 'active'
        AND OLD."status" <> 'active'
        AND NEW."activated_at" IS NOT DISTINCT FROM OLD."activated_at"
    )
    EXECUTE FUNCTION "begin_failures_anew"();

    -- Who asks for evaluations by `updated_since` gets one that was saved again.
    CREATE FUNCTION "note_storage"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      NEW."stored_at" := clock_timestamp();
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "evaluation_saved_again"
    BEFORE UPDATE ON "evaluation"
    FOR EACH ROW
    WHEN (
      NEW."saved_at" IS DISTINCT FROM OLD."saved_at"
        AND NEW."stored_at" IS NOT DISTINCT FROM OLD."stored_at"
    )
    EXECUTE FUNCTION "note_storage"();

    -- A list measures a case again.
    CREATE FUNCTION "forget_size"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      NEW."json_bytes" := NULL;
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "training_case_changed"
    BEFORE UPDATE ON "training_case"
    FOR EACH ROW
    WHEN (
      NEW."json_bytes" IS NOT DISTINCT FROM OLD."json_bytes"
        AND NEW."json_bytes" IS NOT NULL
        AND (
          NEW."fields"::text IS DISTINCT FROM OLD."fields"::text
          OR NEW."external_ref"::text IS DISTINCT FROM OLD."external_ref"::text
        )
    )
    EXECUTE FUNCTION "forget_size"();

    -- Over an expired response is written another one, whose private form is not that of the first:
    -- this version never writes the same form again. Where an address may be shown,
    -- `idempotency_record_address` makes the new one.
    CREATE FUNCTION "forget_private_form"() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      NEW."open_body" := NULL;
      NEW."key_id" := NULL;
      NEW."subject_id" := NULL;
      NEW."other_subject_ids" := NULL;
      RETURN NEW;
    END
    $function$;

    CREATE TRIGGER "idempotency_record_anew"
    BEFORE UPDATE ON "idempotency_record"
    FOR EACH ROW
    WHEN (
      octet_length(NEW."fingerprint") <= 32
        AND NEW."created_at" <> OLD."created_at"
        AND NEW."open_body" = OLD."open_body"
        AND (
          NEW."encrypted"
          OR NEW."location" IS NULL
          OR NEW."location" NOT SIMILAR TO '/api/public/v1/(users|assignments)/%'
        )
    )
    EXECUTE FUNCTION "forget_private_form"();
  END IF;
END
$$;
