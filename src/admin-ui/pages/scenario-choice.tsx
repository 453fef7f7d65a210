import { useTexts } from '../i18n/language.ts';
import type { RouterInputs } from '../lib/api.ts';
import { Choice, Group } from '../ui/field.tsx';

export type Scenario = RouterInputs['admin']['sandbox']['create']['scenario'] & string;
const SCENARIOS = ['typical', 'large', 'empty'] as const satisfies Scenario[];

/** What a sandbox is filled with. */
export function ScenarioChoice({
  chosen,
  onChoose,
}: {
  readonly chosen: string;
  readonly onChoose: (scenario: Scenario) => void;
}) {
  const t = useTexts();
  return (
    <Group legend={t.sandbox.scenario}>
      {SCENARIOS.map((one) => (
        <Choice
          key={one}
          kind="radio"
          name="scenario"
          checked={chosen === one}
          label={t.sandbox.scenarios[one]}
          hint={t.sandbox.scenarioHints[one]}
          onChange={() => onChoose(one)}
        />
      ))}
    </Group>
  );
}
