-- What the catalog forbids in sandboxes. Rules hold for all teams, so it names entries that only
-- sandboxes have (src/features/sandbox/scenario.ts).
INSERT INTO "catalog_rule" ("id", "situation_id", "personality_id")
VALUES ('rule_sandbox', 'sit_sandbox_complaint', 'per_sandbox_hurried')
ON CONFLICT DO NOTHING;
