-- A file of its own: the lock would keep readers waiting while the other index is made.
DROP INDEX "webhook_delivery_urgent_idx";
