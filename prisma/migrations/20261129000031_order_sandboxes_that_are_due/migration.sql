-- A run gives all sandboxes that it keeps the same time, so a page needs the rest of the order.
CREATE INDEX CONCURRENTLY "sandbox_due_idx" ON "sandbox" ("check_at", "team_id");
