import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { Choice, Group } from '../ui/field.tsx';
import { endOfGrace, type Grace } from './graces.ts';

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
    const end = endOfGrace(name);
    const label = t.keys.graces[name];
    return end === null ? label : t.keys.graceUntil(label, format.moment(end));
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
