import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { changedMeanwhile } from '../lib/problem.ts';
import { Actions, Button } from '../ui/button.tsx';
import { announce } from '../ui/notice.tsx';
import { changesOf, isSame, valuesOf, type EndpointValues } from './endpoint-changes.ts';
import { EndpointForm } from './endpoint-form.tsx';
import type { Endpoint } from './endpoint-name.ts';
import { nameOfEvent } from './event-types.ts';

interface Base {
  readonly values: EndpointValues;
  readonly round: number;
  readonly tried?: EndpointValues;
}

const LIST = api.v1.webhooks.listEndpoints;

/**
 * What can be changed of a webhook endpoint. The form is saved as a whole, so it is compared with
 * what the service has just before: what another admin has changed meanwhile is shown, and the
 * reader decides.
 */
export function WebhookSettings({
  endpoint,
  children,
}: {
  readonly endpoint: Endpoint;
  readonly children: ReactNode;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const now = valuesOf(endpoint);
  /**
   * What the entries of the reader began with, and a number that begins them anew. `tried`: what
   * was sent since. It may have been saved although no answer has come.
   */
  const [base, setBase] = useState<Base>({ values: now, round: 0 });
  const isOurs = (found: EndpointValues): boolean =>
    isSame(found, base.values) || (base.tried !== undefined && isSame(found, base.tried));
  const save = useMutation({
    mutationFn: async (values: EndpointValues) => {
      const { data } = await cache.fetchQuery({ ...LIST.queryOptions({}), staleTime: 0 });
      const found = data.find(({ id }) => id === endpoint.id);
      const before = found ? valuesOf(found) : base.values;
      if (found && isSame(before, values)) return found;
      if (!isOurs(before)) throw changedMeanwhile();
      setBase({ ...base, values: before, tried: values });
      const changes = changesOf(before, values);
      return client.v1.webhooks.updateEndpoint.mutate({ endpoint_id: endpoint.id, ...changes });
    },
    onSuccess: (saved) => {
      cache.setQueryData(
        LIST.queryKey({}),
        (list) =>
          list && { ...list, data: list.data.map((one) => (one.id === saved.id ? saved : one)) },
      );
      setBase(({ round }) => ({ values: valuesOf(saved), round }));
      announce(t.common.saved);
    },
  });
  const take = (round: number) => {
    save.reset();
    setBase({ values: now, round });
  };
  return (
    <section className="section">
      <h2>{t.webhooks.change}</h2>
      {!save.isPending && !isOurs(now) && (
        <div className="notice warn" role="alert">
          <p>{t.common.changedMeanwhile}</p>
          <Values values={now} />
          <Actions>
            <Button onClick={() => take(base.round + 1)}>{t.common.takeTheirs}</Button>
            <Button onClick={() => take(base.round)}>{t.common.keepMine}</Button>
          </Actions>
        </div>
      )}
      <EndpointForm
        key={base.round}
        id={endpoint.id}
        values={now}
        submit={t.common.save}
        error={save.error}
        busy={save.isPending}
        onSubmit={(values) => save.mutate(values)}
      >
        {children}
      </EndpointForm>
    </section>
  );
}

function Values({ values }: { readonly values: EndpointValues }) {
  const t = useTexts();
  const { url, description, events } = values;
  const names = events.map((type) => nameOfEvent(t, type));
  return (
    <ul>
      <li>
        {t.webhooks.url}: <code>{url}</code>
      </li>
      <li>
        {t.webhooks.description}: {description ?? t.common.none}
      </li>
      <li>
        {t.webhooks.events}: {names.join(', ')}
      </li>
    </ul>
  );
}
