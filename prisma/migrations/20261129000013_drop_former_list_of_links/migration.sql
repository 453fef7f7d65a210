-- Those of keys and of endpoints have lists of their own.
DROP INDEX "handover_list_idx";
