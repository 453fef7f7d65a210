-- Of all teams, as processes of 1.0.0 look for a key until the functions are applied, which come
-- after the migrations. The next one drops the unique index that they had. The version after the
-- next release drops this one.
CREATE INDEX CONCURRENTLY "api_key_prefix_idx" ON "api_key" ("prefix");
