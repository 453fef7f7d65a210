import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { useSecretMutation } from '../lib/once.ts';
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
  return (
    <>
      <PageHead title={t.webhooks.create} intro={t.webhooks.emptyHint} />
      <EndpointForm
        id={data?.id}
        values={NOTHING}
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
