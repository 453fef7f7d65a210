import { useTexts } from '../i18n/language.ts';
import { everyOf } from '../lib/every-of.ts';
import type { MemberRole } from '../lib/search.ts';
import { Choice, Group } from '../ui/field.tsx';

/** The roles that a member can be given. */
export type Role = Exclude<MemberRole, 'owner'>;
const ROLES = everyOf<Role>({ member: true, admin: true });

/** Lets a person choose a member's role. */
export function RoleChoice({
  chosen,
  error,
  onChoose,
}: {
  readonly chosen: string;
  readonly error?: string | null;
  readonly onChoose: (role: Role) => void;
}) {
  const t = useTexts();
  return (
    <Group legend={t.members.role} error={error}>
      {ROLES.map((role) => (
        <Choice
          key={role}
          kind="radio"
          name="role"
          checked={chosen === role}
          label={t.roles[role]}
          hint={t.members.roleHints[role]}
          onChange={() => onChoose(role)}
        />
      ))}
    </Group>
  );
}
