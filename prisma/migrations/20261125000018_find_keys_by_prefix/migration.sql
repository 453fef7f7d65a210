-- Of all teams, as processes of 1.0.0 look for a key until the functions are applied, which come
-- after the migrations. The next one drops the unique index that they had. This file came later
-- than those after it; a database that has these makes the index and drops it again.
CREATE INDEX CONCURRENTLY "api_key_prefix_idx" ON "api_key" ("prefix");
