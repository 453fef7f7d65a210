import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import type { Texts } from '../i18n/en.ts';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { firstDayOf, totalOf } from '../lib/days.ts';
import { sinceOf, type RequestSearch } from '../lib/search.ts';
import { Figure } from '../ui/figure.tsx';
import { Loaded, PageHead } from '../ui/states.tsx';
import { nameOfEndpoint } from './endpoint-name.ts';

const DAYS = 7;
const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;
const FAILED_MAX = 100;
/** Who looks here asks how it is now. */
const ANEW = { refetchOnMount: 'always', refetchInterval: 30_000 } as const;

/** The health of the team's integration at a glance. */
export function OverviewPage() {
  const t = useTexts();
  const health = useHealth();
  return (
    <>
      <PageHead title={t.overview.title} />
      <Loaded query={health}>
        {({ figures, attention }) => (
          <>
            <div className="figures">
              {figures.map(({ to, search, label, value, hint }) => (
                <Link key={label} to={to} search={search ?? {}} className="figure-link">
                  <Figure label={label} value={value} hint={hint} />
                </Link>
              ))}
            </div>
            <section className="section">
              <h2>{t.overview.attention}</h2>
              {attention.length === 0 ? (
                <p className="notice good">{t.overview.allGood}</p>
              ) : (
                <ul className="attention">
                  {attention.map(({ id, link }) => (
                    <li key={id}>{link}</li>
                  ))}
                </ul>
              )}
            </section>
          </>
        )}
      </Loaded>
    </>
  );
}

type Attention = readonly { readonly id: string; readonly link: ReactNode }[];
type Format = ReturnType<typeof useFormat>;

interface Health {
  readonly figures: readonly {
    readonly to: '/keys' | '/usage' | '/requests' | '/webhooks' | '/crm';
    readonly search?: RequestSearch;
    readonly label: string;
    readonly value: string;
    readonly hint: string;
  }[];
  readonly attention: Attention;
}

/** Reads everything that the overview is made of. */
function useHealth() {
  const failedSince = useMemo(() => sinceOf('24h'), []);
  const keys = useQuery({ ...api.admin.apiKeys.list.queryOptions({ limit: 200 }), ...ANEW });
  const usage = useQuery({
    ...api.admin.usage.daily.queryOptions({ since: firstDayOf(DAYS) }),
    ...ANEW,
  });
  const endpoints = useQuery({ ...api.v1.webhooks.listEndpoints.queryOptions({}), ...ANEW });
  const failed = useQuery({
    ...api.admin.deliveries.list.queryOptions({
      status: 'failed',
      since: failedSince,
      limit: FAILED_MAX,
    }),
    ...ANEW,
  });
  const crm = useQuery({ ...api.admin.crm.list.queryOptions({}), ...ANEW });
  const queries = [keys, usage, endpoints, failed, crm];
  const t = useTexts();
  const format = useFormat();
  const refetch = () => queries.map((query) => void query.refetch());
  const error = queries.find((query) => query.error)?.error ?? null;
  if (!keys.data || !usage.data || !endpoints.data || !failed.data || !crm.data)
    return { data: undefined, error, refetch };
  const facts: Facts = {
    live: keys.data.data.filter(({ state }) => state === 'active'),
    days: usage.data.data,
    hooks: endpoints.data.data,
    failed: failed.data,
    crms: crm.data.data,
  };
  const data: Health = {
    figures: figuresOf(facts, t, format),
    attention: attentionOf(facts, t, format),
  };
  return { data, error, refetch };
}

/** What was read. */
interface Facts {
  /** The active keys. */
  readonly live: RouterOutputs['admin']['apiKeys']['list']['data'];
  readonly days: RouterOutputs['admin']['usage']['daily']['data'];
  readonly hooks: RouterOutputs['v1']['webhooks']['listEndpoints']['data'];
  /** The deliveries that failed in the last day, or the first of them. */
  readonly failed: RouterOutputs['admin']['deliveries']['list'];
  readonly crms: RouterOutputs['admin']['crm']['list']['data'];
}

function figuresOf(
  { live, days, hooks, crms }: Facts,
  t: Texts,
  format: Format,
): Health['figures'] {
  const after = Date.now() - DAYS * DAY_MS;
  const inUse = live.filter(({ last_used_at: at }) => at !== null && Date.parse(at) > after);
  const total = days.reduce((sum, day) => sum + totalOf(day), 0);
  const good = days.reduce((sum, { requests }) => sum + requests['2xx'], 0);
  const works = crms.filter((one) => one.status === 'active' && one.last_error === null);
  return [
    {
      to: '/keys',
      label: t.overview.keysInUse,
      value: format.number(inUse.length),
      hint: t.overview.ofKeys(format.number(live.length)),
    },
    {
      to: '/usage',
      label: t.overview.requests,
      value: format.number(total),
      hint: t.overview.lastDays,
    },
    {
      to: '/requests',
      search: { status: 'errors' },
      label: t.overview.errorRate,
      value: total === 0 ? '–' : format.percent((total - good) / total),
      hint: t.overview.errorShare,
    },
    {
      to: '/webhooks',
      label: t.overview.endpoints,
      value: format.number(hooks.filter(({ status }) => status === 'active').length),
      hint: t.overview.endpointsActive(format.number(hooks.length)),
    },
    {
      to: '/crm',
      label: t.overview.crm,
      value: format.number(works.length),
      hint: t.overview.crmFine(format.number(crms.length)),
    },
  ];
}

function attentionOf(facts: Facts, t: Texts, format: Format): Attention {
  return [
    ...failuresOf(facts, t, format),
    ...keysInNeed(facts, t, format),
    ...ourErrors(facts, t, format),
  ];
}

/** What failed outside: webhooks and CRMs. */
function failuresOf({ hooks, failed, crms }: Facts, t: Texts, format: Format): Attention {
  return [
    ...hooks
      .filter(({ status }) => status === 'disabled_failures')
      .map((endpoint) => ({
        id: endpoint.id,
        link: (
          <Link to="/webhooks/$endpointId" params={{ endpointId: endpoint.id }}>
            {t.overview.endpointPaused(nameOfEndpoint(endpoint))}
          </Link>
        ),
      })),
    ...(failed.data.length === 0
      ? []
      : [
          {
            id: 'failed',
            link: (
              <Link to="/deliveries" search={{ status: 'failed', past: '24h' }}>
                {t.overview.deliveriesFailed(
                  failed.data.length,
                  failed.next_cursor === null
                    ? format.number(failed.data.length)
                    : t.overview.atLeast(format.number(failed.data.length)),
                )}
              </Link>
            ),
          },
        ]),
    ...crms
      .filter(({ last_error }) => last_error !== null)
      .map(({ id, provider }) => ({
        id,
        link: <Link to="/crm">{t.overview.crmFailed(t.crm.providers[provider] ?? provider)}</Link>,
      })),
  ];
}

function keysInNeed({ live }: Facts, t: Texts, format: Format): Attention {
  return [
    ...live
      .filter(
        ({ expires_at: at, revoked_at }) =>
          at !== null && revoked_at === null && Date.parse(at) < Date.now() + SOON_MS,
      )
      .map(({ id, name, expires_at }) => ({
        id,
        link: <Link to="/keys">{t.overview.keyEnds(name, format.ago(expires_at ?? ''))}</Link>,
      })),
    ...(live.length === 0
      ? [{ id: 'no-key', link: <Link to="/keys/new">{t.overview.noKey}</Link> }]
      : []),
  ];
}

function ourErrors({ days }: Facts, t: Texts, format: Format): Attention {
  const ours = days.reduce((sum, { requests }) => sum + requests['5xx'], 0);
  if (ours === 0) return [];
  const link = (
    <Link to="/requests" search={{ status: '5xx' }}>
      {t.overview.ourErrors(ours, format.number(ours))}
    </Link>
  );
  return [{ id: 'ours', link }];
}
