import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { Choice, Group } from '../ui/field.tsx';

const HOUR_S = 3600;

/** How long what is replaced still works, in seconds. */
export const GRACES = {
  hour: HOUR_S,
  day: 24 * HOUR_S,
  week: 7 * 24 * HOUR_S,
  month: 30 * 24 * HOUR_S,
  now: 0,
} as const;

type Grace = keyof typeof GRACES;

/** Lets a person choose how long what is replaced still works; each choice names its end. */
export function GraceChoice<Offered extends Grace>({
  legend,
  offered,
  chosen,
  onChoose,
}: {
  readonly legend: string;
  readonly offered: readonly Offered[];
  readonly chosen: Offered;
  readonly onChoose: (grace: Offered) => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const labelOf = (name: Offered): string => {
    const end = new Date(Date.now() + GRACES[name] * 1000).toISOString();
    const label = t.keys.graces[name];
    return name === 'now' ? label : t.keys.graceUntil(label, format.moment(end));
  };
  return (
    <Group legend={legend}>
      {offered.map((name) => (
        <Choice
          key={name}
          kind="radio"
          name="grace"
          checked={chosen === name}
          label={labelOf(name)}
          onChange={() => onChoose(name)}
        />
      ))}
    </Group>
  );
}
