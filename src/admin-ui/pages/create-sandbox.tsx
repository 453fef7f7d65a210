import { useMutation } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { placeIn } from '../lib/mode.ts';
import { Confirm } from '../ui/confirm.tsx';
import { ScenarioChoice, type Scenario } from './scenario-choice.tsx';

/** Creates the sandbox of the team, and opens it. */
export function CreateSandbox({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts();
  const { pathname } = useLocation();
  const [scenario, setScenario] = useState<Scenario>('typical');
  const create = useMutation(api.admin.sandbox.create.mutationOptions());
  // Of this call: an answer after the dialog was closed leads nobody away from what they do.
  const onSuccess = () => location.assign(placeIn('test', pathname));
  return (
    <Confirm
      title={t.sandbox.create}
      hint={t.sandbox.what}
      action={t.sandbox.create}
      look="main"
      // It is being opened.
      mutation={{ isPending: create.isPending || create.isSuccess, error: create.error }}
      onConfirm={() => create.mutate({ scenario }, { onSuccess })}
      onClose={onClose}
    >
      <p>{t.sandbox.createHint}</p>
      <ScenarioChoice chosen={scenario} onChoose={setScenario} />
    </Confirm>
  );
}
