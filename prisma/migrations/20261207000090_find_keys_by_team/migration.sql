-- The functions are applied now, and look for a key in its team.
DROP INDEX "api_key_prefix_idx";
