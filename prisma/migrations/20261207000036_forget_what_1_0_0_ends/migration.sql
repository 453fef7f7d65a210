-- A process of 1.0.0 that ends a membership or deletes a webhook endpoint knows nothing of the
-- responses that this version keeps: they would show the address or the secret again. See
-- `complete_what_1_0_0_writes`. Where this version has forgotten them itself, nothing is left.
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    -- As `db.forgetKeptDetails` says it.
    CREATE FUNCTION "forget_kept_details"() RETURNS trigger
    LANGUAGE plpgsql
    -- The plan that is the cheapest for most teams reads all responses of one.
    SET plan_cache_mode = force_custom_plan
    AS $function$
    BEGIN
      UPDATE "idempotency_record"
      SET "body" = "open_body", "encrypted" = false, "open_body" = NULL, "key_id" = NULL,
        "subject_id" = NULL, "other_subject_ids" = NULL
      WHERE "team_id" = OLD."team_id"
        AND ("subject_id" = OLD."id" OR "other_subject_ids" && ARRAY[OLD."id"]);
      RETURN NULL;
    END
    $function$;

    CREATE TRIGGER "member_forgotten"
    AFTER UPDATE ON "member"
    FOR EACH ROW
    WHEN (
      NEW."status" = 'ended' AND OLD."status" <> 'ended'
        OR NEW."email" IS NULL AND OLD."email" IS NOT NULL
    )
    EXECUTE FUNCTION "forget_kept_details"();

    CREATE TRIGGER "webhook_endpoint_forgotten"
    AFTER DELETE ON "webhook_endpoint"
    FOR EACH ROW
    EXECUTE FUNCTION "forget_kept_details"();
  END IF;
END
$$;
