import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { useSecretMutation } from '../lib/once.ts';
import { MODE } from '../lib/shell.ts';
import { fullAt } from '../lib/team-limits.ts';
import { DocsLink } from '../ui/docs-link.tsx';
import { PageHead } from '../ui/states.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { EndpointSecret } from './endpoint-secret.tsx';

const NOTHING = { url: '', events: [], description: null };

/** Creates a webhook endpoint. */
export function NewWebhookPage() {
  const t = useTexts();
  const navigate = useNavigate();
  const cache = useQueryClient();
  const create = useSecretMutation({
    send: client.v1.webhooks.createEndpoint.mutate,
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries(api.v1.webhooks.pathFilter()),
        cache.invalidateQueries(api.admin.deliveries.health.pathFilter()),
      ]),
  });
  const { data } = create;
  const format = useFormat();
  const endpoints = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const full = fullAt('webhookEndpoints', MODE, endpoints.data?.data.length);
  // What was just created may be the last one.
  const why = full === null || data ? null : t.limits.endpoints(format.number(full));
  return (
    <>
      <PageHead title={t.webhooks.create} intro={t.webhooks.emptyHint} />
      {why !== null && (
        <p className="notice warn">
          {why} <Link to="/webhooks">{t.limits.toEndpoints}</Link>
        </p>
      )}
      <EndpointForm
        id={data?.id}
        values={NOTHING}
        why={why}
        submit={t.webhooks.create}
        error={create.error}
        busy={create.isPending}
        onSubmit={(values) => create.mutate(values)}
      >
        <Link to="/webhooks" className="button plain">
          {t.common.cancel}
        </Link>
      </EndpointForm>
      {data && (
        <EndpointSecret
          issued={data}
          onDone={() =>
            void navigate({ to: '/webhooks/$endpointId', params: { endpointId: data.id } })
          }
        >
          <p>
            <DocsLink page="/webhooks">{t.webhooks.howToVerify}</DocsLink>
          </p>
        </EndpointSecret>
      )}
    </>
  );
}
