import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { fillDays, firstDayOf, totalOf, type Day } from '../lib/days.ts';
import { whileUnknown } from '../lib/queries.ts';
import { USAGE_DAYS } from '../lib/search.ts';
import { Bars, CsvButton } from '../ui/chart.tsx';
import { Figure } from '../ui/figure.tsx';
import { Filter, FilterBar } from '../ui/filter.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { nameOfKey } from './key-name.ts';
import { useKeys } from './key-queries.ts';
import {
  daysChosen,
  FULL,
  peakBars,
  peakOf,
  requestBars,
  STATUSES,
  TONES,
  usageRows,
  usedDays,
} from './usage-figures.ts';

const route = getRouteApi('/usage');
/** The table that has the numbers of both charts. */
const TABLE_ID = 'usage-table';

/** The requests of the team's keys by day. */
export function UsagePage() {
  const t = useTexts();
  const search = route.useSearch();
  const { days = 30, key } = search;
  const since = firstDayOf(days);
  const usage = useQuery(api.admin.usage.daily.queryOptions({ since, key_id: key }));
  const keys = useKeys(key === undefined ? [] : [key]);
  const known = whileUnknown(usage, null);
  const used = known === null ? undefined : usedDays(fillDays(known.data, since));
  return (
    <>
      <PageHead title={t.usage.title} intro={t.usage.intro} />
      <FilterBar search={search} navigate={route.useNavigate()} shown={used?.length}>
        {(_, set) => (
          <>
            <Filter
              label={t.usage.key}
              value={key}
              options={keys.named.map(({ id, name }) => [id, nameOfKey(t, name)])}
              onChange={(next) => set({ key: next })}
            />
            <Filter
              label={t.usage.period}
              value={String(days)}
              isRequired
              options={USAGE_DAYS.map((one) => [String(one), t.usage.days(one)])}
              onChange={(next) => set({ days: daysChosen(next) })}
            />
          </>
        )}
      </FilterBar>
      <Limits days={known?.data} />
      <Loaded query={usage}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t.usage.empty} hint={t.usage.emptyHint} />
          ) : (
            <UsageView days={fillDays(data, since)} />
          )
        }
      </Loaded>
    </>
  );
}

const UNKNOWN_LIMITS = { plan: undefined, team_per_minute: undefined, key_per_minute: undefined };
const UNKNOWN_SEATS = { used: undefined, seats: undefined };

/** What the team may use, and how near it came. */
function Limits({
  days,
}: {
  /** undefined: unknown. */
  readonly days: readonly Pick<Day, 'peak_percent'>[] | undefined;
}) {
  const t = useTexts();
  const format = useFormat();
  const limits = useQuery(api.admin.usage.limits.queryOptions({}));
  const seats = useQuery(api.admin.members.seats.queryOptions({}));
  const value = (known: number | undefined) => (known === undefined ? '…' : format.number(known));
  const { plan, team_per_minute, key_per_minute } = whileUnknown(limits, UNKNOWN_LIMITS);
  const { used, seats: all } = whileUnknown(seats, UNKNOWN_SEATS);
  return (
    <div className="figures">
      <Figure
        label={t.usage.peak}
        value={days === undefined ? '…' : format.percent(peakOf(days))}
        hint={t.usage.peakHint(value(key_per_minute), value(team_per_minute))}
      />
      <Figure label={t.usage.seats} value={value(used)} hint={t.usage.ofSeats(value(all))} />
      <Figure label={t.usage.plan} value={t.usage.plans[plan ?? ''] ?? plan ?? '…'} />
    </div>
  );
}

function UsageView({ days }: { readonly days: readonly Day[] }) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<Day>[] = [
    { label: t.usage.day, kind: 'main', cell: ({ day }) => format.shortDay(day) },
    ...STATUSES.map((status) => ({
      label: t.usage.statuses[status],
      kind: 'number' as const,
      cell: ({ requests }: Day) => format.number(requests[status]),
    })),
    { label: t.usage.total, kind: 'number', cell: (day) => format.number(totalOf(day)) },
    { label: t.usage.peak, kind: 'number', cell: (day) => format.percent(day.peak_percent / 100) },
  ];
  const used = usedDays(days);
  return (
    <>
      <div className="card">
        <Bars
          label={t.usage.chart}
          hint={t.usage.chartHint}
          legend={STATUSES.map((status) => ({
            tone: TONES[status],
            text: t.usage.statuses[status] ?? status,
          }))}
          table={{ id: TABLE_ID }}
          bars={requestBars(days, t, format)}
        />
      </div>
      <section className="section">
        <h2>{t.usage.peaks}</h2>
        <div className="card">
          <Bars
            label={t.usage.peaks}
            hint={t.usage.peaksHint}
            legend={[
              { tone: 'main', text: t.usage.peakBelow(format.percent(FULL / 100)) },
              { tone: 'bad', text: t.usage.peakFrom(format.percent(FULL / 100)) },
            ]}
            table={{ id: TABLE_ID }}
            max={100}
            isLimit
            scale={(value) => format.percent(value / 100)}
            bars={peakBars(days, format)}
          />
        </div>
      </section>
      <section className="section" id={TABLE_ID}>
        <div className="section-head">
          <h2>{t.common.asTable}</h2>
          <CsvButton name="usage" rows={usageRows(days)} />
        </div>
        <Table caption={t.usage.chart} columns={columns} rows={used} keyOf={({ day }) => day} />
      </section>
    </>
  );
}
