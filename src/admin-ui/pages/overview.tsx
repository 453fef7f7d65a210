import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { sumOf } from '../lib/days.ts';
import type { RequestSearch } from '../lib/search.ts';
import { successOf, toSpark } from '../lib/success.ts';
import { Figure } from '../ui/figure.tsx';
import { amounts, type SparkValue } from '../ui/spark.tsx';
import { Loaded, PageHead } from '../ui/states.tsx';
import { Attention } from './attention.tsx';
import { isCrmFine } from './crm-state.ts';
import { FirstSteps, useFirstSteps } from './first-steps.tsx';
import { findUsed, RECENT_DAYS } from './needs.ts';
import { useFacts, type Facts } from './overview-facts.ts';

/** Errors are drawn in the height of this share, or of the worst day, so that few are seen. */
const ERRORS_TOP = 0.1;

/** The health of the team's integration at a glance. */
export function OverviewPage() {
  const t = useTexts();
  const facts = useFacts();
  const { isHidden, isPending, admins, hide } = useFirstSteps();
  return (
    <>
      <PageHead title={t.overview.title} intro={t.overview.intro} />
      {/* The steps stand above the rest, which must not move. */}
      <Loaded query={facts} isWaiting={isPending}>
        {(data) => (
          <>
            {!isHidden && <FirstSteps facts={data} admins={admins} onHide={hide} />}
            <Figures facts={data} />
            <Attention facts={data} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface Entry {
  readonly to: '/keys' | '/usage' | '/requests' | '/webhooks' | '/crm';
  readonly search?: RequestSearch;
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  readonly spark?: readonly SparkValue[];
}

function Figures({ facts }: { readonly facts: Facts }) {
  const t = useTexts();
  const entries = [...useRequestEntries(facts), ...useOtherEntries(facts)];
  return (
    <section>
      <h2 className="visually-hidden">{t.overview.figures}</h2>
      <div className="figures">
        {entries.map(({ to, search, ...figure }) => (
          <Link key={figure.label} to={to} search={search ?? {}} className="figure-link">
            <Figure {...figure} />
          </Link>
        ))}
      </div>
    </section>
  );
}

function useRequestEntries({ days }: Facts): Entry[] {
  const t = useTexts();
  const format = useFormat();
  const { total, good } = sumOf(days.slice(-RECENT_DAYS));
  const perDay = days.map((day) => sumOf([day]));
  const shares = perDay.map((day) => (day.total === 0 ? 0 : (day.total - day.good) / day.total));
  return [
    {
      to: '/usage',
      label: t.overview.requests,
      value: format.number(total),
      hint: t.overview.lastDays,
      spark: amounts(perDay.map((day) => day.total)),
    },
    {
      to: '/requests',
      search: { status: 'errors' },
      label: t.overview.errorRate,
      value: total === 0 ? '–' : format.percent((total - good) / total),
      hint: total === 0 ? t.overview.noRequests : t.overview.errorShare,
      spark: shares.map((share) => ({
        share: share / Math.max(ERRORS_TOP, ...shares),
        isBad: true,
      })),
    },
  ];
}

function useOtherEntries({ keys, hooks, crms }: Facts): Entry[] {
  const t = useTexts();
  const format = useFormat();
  const success = successOf(hooks.flatMap(({ arrived }) => arrived));
  const each = hooks.map(({ arrived }) => successOf(arrived)).filter((share) => share !== null);
  const inUse = findUsed(keys, Date.now());
  const works = crms.filter(isCrmFine);
  const active = hooks.filter(({ status }) => status === 'active').length;
  const endpoints = [format.number(active), format.number(hooks.length)] as const;
  const sent =
    success === null ? t.overview.noneSent(...endpoints) : t.overview.endpointsActive(...endpoints);
  return [
    {
      to: '/webhooks',
      label: t.overview.success,
      value: success === null ? '–' : format.percent(success),
      hint: hooks.length === 0 ? t.overview.noEndpoints : sent,
      spark: each.toSorted((a, b) => a - b).map(toSpark),
    },
    {
      to: '/keys',
      label: t.overview.keysInUse,
      value: format.number(inUse.length),
      hint: keys.length === 0 ? t.overview.noKeys : t.overview.ofKeys(format.number(keys.length)),
    },
    {
      to: '/crm',
      label: t.overview.crm,
      value: crms.length === 0 ? '–' : format.number(works.length),
      hint: crms.length === 0 ? t.overview.noCrm : t.overview.crmFine(format.number(crms.length)),
    },
  ];
}
