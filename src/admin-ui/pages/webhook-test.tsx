import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { DocsLink } from '../ui/docs-link.tsx';
import { FormProblem } from '../ui/field.tsx';
import { Filter } from '../ui/filter.tsx';
import { Loaded } from '../ui/states.tsx';
import { explanationOf, stateOfTest } from './delivery-outcome.ts';
import { nameOfEvent, SUBSCRIBABLE_EVENTS } from './event-types.ts';

const LOOK_EVERY_MS = 700;
const TESTS = ['ping', ...SUBSCRIBABLE_EVENTS] as const;

/** Sends a test event to an endpoint and shows its outcome as soon as it is known. */
export function WebhookTest({ endpointId }: { readonly endpointId: string }) {
  const t = useTexts();
  const format = useFormat();
  const cache = useQueryClient();
  const [type, setType] = useState<(typeof TESTS)[number]>('ping');
  const test = useMutation(api.v1.webhooks.testEndpoint.mutationOptions());
  const deliveryId = test.data?.delivery_id;
  const outcome = useQuery({
    ...api.admin.deliveries.get.queryOptions({ delivery_id: deliveryId ?? '' }),
    enabled: deliveryId !== undefined,
    refetchInterval: ({ state }) => (stateOfTest(state.data) === 'running' ? LOOK_EVERY_MS : false),
  });
  const delivery = outcome.data;
  const testState = stateOfTest(delivery);
  const isOver = testState !== 'running';
  useEffect(() => {
    // What stands below shows the test as it ended.
    if (isOver) void cache.invalidateQueries(api.admin.deliveries.pathFilter());
  }, [cache, isOver, deliveryId]);
  const isWaiting = test.isPending || (deliveryId !== undefined && !isOver);
  const arrived = testState === 'arrived';
  return (
    <section className="section">
      <h2>{t.webhooks.testTitle}</h2>
      <div className="test">
        <Filter
          label={t.webhooks.testType}
          value={type}
          options={TESTS.map((one) => [one, nameOfEvent(t, one)])}
          isRequired
          onChange={(one) => setType(one ?? 'ping')}
        />
        <Button
          busy={isWaiting}
          onClick={() => test.mutate({ endpoint_id: endpointId, event_type: type })}
        >
          {t.webhooks.test}
        </Button>
        {type !== 'ping' && <Example key={type} type={type} />}
        <FormProblem error={test.error} />
        <div role="status" className="test-outcome">
          {isWaiting && t.webhooks.testing}
          {delivery && isOver && (
            <p className={arrived ? 'notice good' : 'notice bad'}>
              {arrived
                ? t.webhooks.testArrived(format.number(delivery.response_ms ?? 0))
                : `${t.webhooks.testFailed} ${explanationOf(t, delivery).what}`}
              <Link to="/deliveries/$deliveryId" params={{ deliveryId: delivery.id }}>
                {t.common.details}
              </Link>
            </p>
          )}
        </div>
      </div>
    </section>
  );
}

/** What the receiver gets, as it would under the team's privacy switches. */
function Example({ type }: { readonly type: string }) {
  const t = useTexts();
  const [isOpen, setOpen] = useState(false);
  const examples = useQuery({ ...api.admin.webhooks.examples.queryOptions({}), enabled: isOpen });
  return (
    <details
      className="example"
      onToggle={({ currentTarget }) => setOpen((was) => was || currentTarget.open)}
    >
      <summary>{t.webhooks.testExample}</summary>
      <p className="hint">
        {t.webhooks.testExampleHint}{' '}
        <DocsLink page="/events" part={type}>
          {t.webhooks.testDocs}
        </DocsLink>
      </p>
      {isOpen && (
        <Loaded query={examples} rows={3}>
          {({ data }) => (
            <CodeBlock
              label={t.webhooks.testExample}
              text={JSON.stringify(
                { type, test: true, data: data.find((one) => one.type === type)?.data },
                null,
                2,
              )}
            />
          )}
        </Loaded>
      )}
    </details>
  );
}
