import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { Choice, Group } from '../ui/field.tsx';
import { endOfGrace, gracesUntil, type Grace } from './graces.ts';

/** Lets a person choose how long what is replaced still works; each choice names its end. */
export function GraceChoice<Offered extends Grace>({
  legend,
  offered,
  chosen,
  endsAt = null,
  onChoose,
}: {
  readonly legend: string;
  readonly offered: readonly Offered[];
  readonly chosen: Offered;
  /** When what is replaced ends by itself; null: never. */
  readonly endsAt?: string | null;
  readonly onChoose: (grace: Offered) => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const labelOf = (name: Offered): string => {
    const end = endOfGrace(name, endsAt);
    const label = t.keys.graces[name];
    if (end === null) return label;
    const moment = format.moment(end);
    return end === endsAt ? t.keys.graceToEnd(moment) : t.keys.graceUntil(label, moment);
  };
  return (
    <Group legend={legend}>
      {gracesUntil(offered, endsAt).map((name) => (
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
