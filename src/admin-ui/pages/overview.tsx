import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import type { RequestSearch } from '../lib/search.ts';
import { Figure } from '../ui/figure.tsx';
import { amounts, badShares, outcomes as drawn, type SparkBar } from '../ui/spark-values.ts';
import { Loaded, PageHead } from '../ui/states.tsx';
import { Attention } from './attention.tsx';
import { FirstSteps, useFirstSteps } from './first-steps.tsx';
import { otherFigures, requestFigures, stateOfMany } from './overview-figures.ts';
import { useFacts, type Facts } from './overview-facts.ts';

/** The health of the team's integration at a glance. */
export function OverviewPage() {
  const t = useTexts();
  const facts = useFacts();
  const { isHidden, isPending, admins, hide } = useFirstSteps();
  return (
    <>
      <PageHead title={t.overview.title} intro={t.overview.intro} />
      {/* All at once: nothing moves when the last one arrives. */}
      <Loaded query={facts} isWaiting={isPending}>
        {(data) => (
          <>
            <Attention facts={data} />
            <Figures facts={data} />
            {!isHidden && (
              <Loaded query={admins} rows={2}>
                {(found) => <FirstSteps facts={data} admins={found.data} onHide={hide} />}
              </Loaded>
            )}
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
  /** Whether the value is a state that somebody should look at. */
  readonly isBad?: boolean;
  readonly hint: string;
  readonly spark?: readonly SparkBar[];
}

function Figures({ facts }: { readonly facts: Facts }) {
  const t = useTexts();
  const entries = [...useRequestEntries(facts), ...useOtherEntries(facts)];
  return (
    <section className="section">
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
  const { total, today, change, errors, totals, errorHeights } = requestFigures(days);
  return [
    {
      to: '/usage',
      label: t.overview.requests,
      value: format.number(total),
      hint: [
        t.overview.week(format.number(today)),
        change === null ? '' : t.overview.change(format.change(change)),
      ]
        .filter(Boolean)
        .join(' '),
      spark: amounts(totals),
    },
    {
      to: '/requests',
      search: { status: 'errors' },
      label: t.overview.errorRate,
      value: errors === null ? '–' : format.percent(errors),
      hint: errors === null ? t.overview.noRequests : t.overview.errorShare,
      spark: badShares(errorHeights),
    },
  ];
}

function useOtherEntries(facts: Facts): Entry[] {
  const t = useTexts();
  const format = useFormat();
  const { keys, hooks, crms } = facts;
  const { success, outcomes, active, inUse, works } = otherFigures(facts, Date.now());
  const crmState = stateOfMany(works, crms.length);
  const state = stateOfMany(active, hooks.length);
  return [
    {
      to: '/webhooks',
      label: t.overview.success,
      value: t.overview.hookStates[state](format.number(active), format.number(hooks.length)),
      isBad: state === 'none' || state === 'some',
      hint:
        hooks.length === 0
          ? t.overview.noEndpoints
          : success === null
            ? t.overview.nothingSent
            : t.overview.arrived(format.percent(success)),
      spark: success === null ? [] : drawn(outcomes),
    },
    {
      to: '/keys',
      label: t.overview.keysInUse,
      value: format.number(inUse),
      hint: keys.length === 0 ? t.overview.noKeys : t.overview.ofKeys(format.number(keys.length)),
    },
    {
      to: '/crm',
      label: t.overview.crm,
      value: t.overview.crmStates[crmState](format.number(works), format.number(crms.length)),
      isBad: crmState === 'none' || crmState === 'some',
      hint: crms.length === 0 ? t.overview.noCrm : t.overview.connections(crms.length),
    },
  ];
}
