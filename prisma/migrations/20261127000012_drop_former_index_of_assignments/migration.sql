-- "assignment_member_list_idx" begins with its columns.
DROP INDEX "assignment_member_idx";
