import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { readAllAnew } from '../lib/forget.ts';
import { Confirm } from '../ui/confirm.tsx';
import { announce } from '../ui/notice.tsx';
import { ScenarioChoice, type Scenario } from './scenario-choice.tsx';

/** Brings a scenario back: the one that the sandbox has, or another one. */
export function ResetSandbox({
  scenario: current,
  onClose,
}: {
  readonly scenario: string;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [scenario, setScenario] = useState(current as Scenario);
  const reset = useMutation(
    api.v1.sandbox.reset.mutationOptions({
      onSuccess: async () => {
        // Whatever was read is of before.
        await readAllAnew(cache);
        announce(t.sandbox.resetDone);
        onClose();
      },
    }),
  );
  return (
    <Confirm
      title={t.sandbox.resetTitle}
      hint={t.sandbox.resetHint}
      action={t.sandbox.resetNow}
      mutation={reset}
      onConfirm={() => reset.mutate({ scenario })}
      onClose={onClose}
    >
      <ScenarioChoice chosen={scenario} onChoose={setScenario} />
    </Confirm>
  );
}
