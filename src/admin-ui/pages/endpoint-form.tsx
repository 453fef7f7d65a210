import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { enteredValues, missingIn, type EndpointValues } from './endpoint-changes.ts';
import { hasTwin } from './endpoint-name.ts';
import { nameOfEvent, SUBSCRIBABLE_EVENTS } from './event-types.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { rowsKnown } from '../lib/queries.ts';
import { toggled } from '../lib/toggled.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Choice, Field, FormProblem, Group, useFieldErrors } from '../ui/field.tsx';
import type { ReactNode } from 'react';

/** The form of a webhook endpoint, new or existing. */
export function EndpointForm({
  id = '',
  values,
  submit,
  error,
  busy,
  why = null,
  onSubmit,
  children,
}: {
  /** Of the endpoint, once it exists. */
  readonly id?: string | undefined;
  readonly values: EndpointValues;
  readonly submit: string;
  readonly error: unknown;
  readonly busy: boolean;
  /** Why nothing can be submitted now. */
  readonly why?: string | null;
  readonly onSubmit: (values: EndpointValues) => void;
  readonly children?: ReactNode;
}) {
  const t = useTexts();
  const [url, setUrl] = useState(values.url);
  const [events, setEvents] = useState(values.events);
  const [description, setDescription] = useState(values.description ?? '');
  const [wasSent, setSent] = useState(false);
  const errorOf = useFieldErrors(error);
  const missing = missingIn({ url, events });
  const says = (field: (typeof missing)[number], text: string | undefined) =>
    wasSent && missing.includes(field) ? (text ?? null) : errorOf(field);
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSent(true);
    if (missing.length > 0 || busy || why !== null) return;
    onSubmit(enteredValues({ url, events, description }));
  };
  return (
    <form className="form" onSubmit={send} noValidate>
      <UrlField
        endpoint={{ id, url, events }}
        error={says('url', t.reasons['too_small'])}
        onChange={setUrl}
      />
      <Field
        label={`${t.webhooks.description} (${t.common.optional})`}
        error={errorOf('description')}
      >
        {(props) => (
          <input
            {...props}
            value={description}
            maxLength={200}
            onChange={(event) => setDescription(event.currentTarget.value)}
          />
        )}
      </Field>
      <EventChoice
        events={events}
        error={says('events', t.webhooks.eventsNeeded)}
        onChange={setEvents}
      />
      <FormProblem error={error} fields={['url', 'events', 'description']} />
      <Actions>
        <Button type="submit" look="main" busy={busy} why={why}>
          {submit}
        </Button>
        {children}
      </Actions>
    </form>
  );
}

function EventChoice({
  events,
  error,
  onChange,
}: {
  readonly events: EndpointValues['events'];
  readonly error: string | null;
  readonly onChange: (events: EndpointValues['events']) => void;
}) {
  const t = useTexts();
  return (
    <Group legend={t.webhooks.events} error={error}>
      {SUBSCRIBABLE_EVENTS.map((type) => (
        <Choice
          key={type}
          kind="checkbox"
          checked={events.includes(type)}
          label={nameOfEvent(t, type)}
          hint={<code>{type}</code>}
          onChange={(checked) => onChange(toggled(events, type, checked))}
        />
      ))}
    </Group>
  );
}

/** The address, and whether another endpoint has it. */
function UrlField({
  endpoint,
  error,
  onChange,
}: {
  readonly endpoint: Parameters<typeof hasTwin>[0];
  readonly error: string | null;
  readonly onChange: (url: string) => void;
}) {
  const t = useTexts();
  const list = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const isTwin = hasTwin(endpoint, rowsKnown(list));
  const hint = isTwin ? <strong>{t.webhooks.twin}</strong> : t.webhooks.urlHint;
  return (
    <Field label={t.webhooks.url} hint={hint} error={error}>
      {(props) => (
        <input
          {...props}
          type="url"
          value={endpoint.url}
          placeholder="https://"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
