DROP INDEX "sandbox_check_at_idx";
