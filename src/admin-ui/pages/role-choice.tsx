import { useTexts } from '../i18n/language.ts';
import { Choice, Group } from '../ui/field.tsx';

const ROLES = ['member', 'admin'] as const;

/** The roles that a member can be given. */
export type Role = (typeof ROLES)[number];

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
