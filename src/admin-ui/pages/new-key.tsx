import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client, type RouterInputs, type RouterOutputs } from '../lib/api.ts';
import { now } from '../lib/clock.ts';
import { useSecretMutation } from '../lib/once.ts';
import { useWhyNotKeys } from '../lib/rights.ts';
import { MODE } from '../lib/shell.ts';
import { fullAt } from '../lib/team-limits.ts';
import { toggled } from '../lib/toggled.ts';
import { Actions, Button } from '../ui/button.tsx';
import { SandboxNote } from '../ui/band.tsx';
import { Choice, Field, FormProblem, Group, useFieldErrors } from '../ui/field.tsx';
import { Loaded, PageHead } from '../ui/states.tsx';
import { Expiry } from './expiry.tsx';
import { addressesIn, CUSTOM, endOf, scopesOf, type Chosen } from './new-key-values.ts';
import { liveKeys } from './key-queries.ts';
import { KeySecret } from './key-secret.tsx';

type Offer = RouterOutputs['admin']['apiKeys']['templates'];
type Scope = RouterInputs['admin']['apiKeys']['create']['scopes'][number];

/** Creates an API key. */
export function NewKeyPage() {
  const t = useTexts();
  const why = useWhyNotKeys();
  const offer = useQuery(api.admin.apiKeys.templates.queryOptions({}));
  const full = useFull();
  return (
    <>
      <PageHead title={t.keys.create} intro={t.keys.emptyHint} />
      <SandboxNote>{t.sandbox.keysNote}</SandboxNote>
      {why !== null && <p className="notice">{why}</p>}
      {full !== null && (
        <p className="notice warn">
          {full} <Link to="/keys">{t.limits.toKeys}</Link>
        </p>
      )}
      <Loaded query={offer}>{(data) => <NewKeyForm offer={data} />}</Loaded>
    </>
  );
}

/** Says that the team has as many keys as it may have, before anything is entered in vain. */
function useFull(): string | null {
  const t = useTexts();
  const format = useFormat();
  const full = fullAt('liveKeys', MODE, useQuery(liveKeys()).data?.data.length);
  return full === null ? null : t.limits.keys(format.number(full));
}

/** Why no key can be created now. */
function useWhyNotNow(): string | null {
  const mayNot = useWhyNotKeys();
  const full = useFull();
  return mayNot ?? full;
}

function NewKeyForm({ offer }: { readonly offer: Offer }) {
  const t = useTexts();
  const why = useWhyNotNow();
  const navigate = useNavigate();
  const cache = useQueryClient();
  const [chosen, setChosen] = useState<Chosen>({ template: null, custom: [] });
  const [typed, setTyped] = useState<string | null>(null);
  const [days, setDays] = useState<number | null>(90);
  const [wasSent, setSent] = useState(false);
  // Sent again, a creation must be the same one, and end on the day that the page shows.
  const [openedMs] = useState(now);
  const create = useSecretMutation({
    send: client.admin.apiKeys.create.mutate,
    onSuccess: () => cache.invalidateQueries(api.admin.apiKeys.pathFilter()),
  });
  const errorOf = useFieldErrors(create.error);
  const scopes = scopesOf(offer.templates, chosen);
  const name = typed ?? t.keys.suggestedNames[chosen.template ?? ''] ?? '';

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSent(true);
    if (scopes.length === 0 || why !== null || create.isPending) return;
    const data = new FormData(event.currentTarget);
    create.mutate({
      name,
      scopes: scopes as Scope[],
      allowed_ips: addressesIn(textOf(data, 'allowed_ips')),
      expires_at: endOf(days, openedMs),
    });
  };
  const leave = () => void navigate({ to: '/keys' });

  return (
    <>
      <form className="form" onSubmit={send} noValidate>
        <Field label={t.keys.name} hint={t.keys.nameHint} error={errorOf('name')}>
          {(props) => (
            <input
              {...props}
              name="name"
              value={name}
              maxLength={100}
              autoComplete="off"
              required
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          )}
        </Field>
        <Permissions
          offer={offer}
          chosen={chosen}
          error={wasSent && scopes.length === 0 ? t.keys.permissionsNeeded : null}
          onChange={setChosen}
        />
        <Expiry
          legend={t.keys.expiry}
          fromMs={openedMs}
          days={days}
          onChange={setDays}
          error={errorOf('expires_at')}
        />
        <Field label={t.keys.restrict} hint={t.keys.restrictHint} error={errorOf('allowed_ips')}>
          {(props) => <textarea {...props} name="allowed_ips" rows={3} spellCheck={false} />}
        </Field>
        <FormProblem error={create.error} fields={['name', 'expires_at', 'allowed_ips']} />
        <Actions>
          <Button type="submit" look="main" busy={create.isPending} why={why}>
            {t.keys.create}
          </Button>
          <Link to="/keys" className="button plain">
            {t.common.cancel}
          </Link>
        </Actions>
      </form>
      {/* Not in the form: Enter in the dialog would send the creation again. */}
      {create.data && <KeySecret issued={create.data} onDone={leave} />}
    </>
  );
}

function Permissions({
  offer,
  chosen,
  error,
  onChange,
}: {
  readonly offer: Offer;
  readonly chosen: Chosen;
  readonly error: string | null;
  readonly onChange: (chosen: Chosen) => void;
}) {
  const t = useTexts();
  const { template, custom } = chosen;
  return (
    <Group legend={t.keys.permissions} error={error}>
      {offer.templates.map(({ id, name, purpose, scopes }) => (
        <div key={id}>
          <Choice
            kind="radio"
            name="template"
            checked={template === id}
            label={name}
            hint={purpose}
            onChange={() => onChange({ template: id, custom })}
          />
          {template === id && (
            <ul className="nested hint">
              {scopes.map((scope) => (
                <li key={scope}>{t.keys.scopeNames[scope] ?? scope}</li>
              ))}
            </ul>
          )}
        </div>
      ))}
      <Choice
        kind="radio"
        name="template"
        checked={template === CUSTOM}
        label={t.keys.custom}
        onChange={() => onChange({ template: CUSTOM, custom })}
      />
      {template === CUSTOM && (
        <Scopes
          offer={offer}
          chosen={custom}
          onChange={(scopes) => onChange({ template, custom: scopes })}
        />
      )}
    </Group>
  );
}

function Scopes({
  offer,
  chosen,
  onChange,
}: {
  readonly offer: Offer;
  readonly chosen: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}) {
  const t = useTexts();
  return (
    <div className="nested">
      {offer.scopes.map(({ scope, description }) => (
        <Choice
          key={scope}
          kind="checkbox"
          checked={chosen.includes(scope)}
          label={t.keys.scopeNames[scope] ?? description}
          hint={<code>{scope}</code>}
          onChange={(checked) => onChange(toggled(chosen, scope, checked))}
        />
      ))}
    </div>
  );
}

function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value : '';
}
