-- Each scrape of a worker's metrics counts the endpoints that were paused after failures.
CREATE INDEX CONCURRENTLY "webhook_endpoint_paused_idx" ON "webhook_endpoint" ("team_id")
  WHERE "status" = 'disabled_failures';
