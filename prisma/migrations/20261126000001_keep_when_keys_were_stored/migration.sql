-- When somebody confirmed that a key is stored where its program keeps its secrets. Null: nobody
-- did, so its secret may have been lost before anybody saw it.
ALTER TABLE "api_key" ADD COLUMN "stored_at" timestamptz(3);
