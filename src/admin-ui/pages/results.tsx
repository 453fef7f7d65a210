import { useQuery } from '@tanstack/react-query';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Bars, CsvButton } from '../ui/chart.tsx';
import { Figure } from '../ui/figure.tsx';
import { Badge, Empty, Loaded, PageHead } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { changeText, figureText, stepLabels, weeksOf, type Results } from './results-figures.ts';

type People = NonNullable<Results['people']>;

/** How the team trains as a whole. */
export function ResultsPage() {
  const t = useTexts();
  const results = useQuery(api.admin.analytics.results.queryOptions({}));
  return (
    <>
      <PageHead title={t.results.title} intro={t.results.intro} />
      <Loaded query={results}>
        {(data) => <ResultsView results={data} readAt={results.dataUpdatedAt} />}
      </Loaded>
    </>
  );
}

function ResultsView({ results, readAt }: { readonly results: Results; readonly readAt: number }) {
  const t = useTexts();
  const shown = useShown();
  const { totals } = results;
  return (
    <>
      <div className="figures">
        <Figure label={t.results.average} value={shown(totals.avg_score)} />
        <Figure label={t.results.sessions} value={shown(totals.sessions)} />
        <Figure label={t.results.scored} value={shown(totals.scored)} />
        <Figure label={t.results.members} value={shown(totals.active_members)} />
      </div>
      {totals.scored === 0 ? (
        <Empty title={t.results.none} hint={t.results.noneHint} />
      ) : (
        <Scores results={results} readAt={readAt} />
      )}
    </>
  );
}

/** What there is when a training was scored. */
function Scores({ results, readAt }: { readonly results: Results; readonly readAt: number }) {
  const t = useTexts();
  const shown = useShown();
  const { dimensions, skill_gaps: gaps, people } = results;
  return (
    <>
      <Trend trend={results.trend} readAt={readAt} />
      <section className="section">
        <h2>{t.results.dimensions}</h2>
        <Table
          caption={t.results.dimensions}
          rows={dimensions}
          keyOf={({ dimension }) => dimension ?? ''}
          columns={[
            {
              label: t.results.dimension,
              kind: 'main',
              cell: ({ dimension }) => t.results.names[dimension ?? ''] ?? dimension,
            },
            {
              label: t.results.score,
              cell: ({ value, dimension }) => (
                <div className="measure">
                  <meter
                    min={0}
                    max={100}
                    value={value ?? 0}
                    aria-label={t.results.names[dimension ?? ''] ?? t.results.score}
                  />
                  {/* The meter has said it. */}
                  <span aria-hidden="true">{shown(value)}</span>
                  {gaps.includes(dimension ?? '') && <Badge tone="warn">{t.results.gap}</Badge>}
                </div>
              ),
            },
          ]}
        />
      </section>
      <PeopleSection people={people} />
    </>
  );
}

/** A figure, or a dash where there is none. */
function useShown(): (value: number | null) => string {
  const format = useFormat();
  return (value) => figureText(value, format.number);
}

/** How the members' scores are spread, with the best and the last ones, however many there are. */
function PeopleSection({ people }: { readonly people: Results['people'] }) {
  const t = useTexts();
  return (
    <section className="section">
      <h2>{t.results.single}</h2>
      {people === null ? (
        <p className="soft">{t.results.singleWithheld}</p>
      ) : (
        <>
          <div className="card">
            <Spread counts={people.spread} />
          </div>
          {people.last.length > 0 ? (
            <div className="beside after">
              <PeopleTable caption={t.results.best(people.best.length)} people={people.best} />
              <PeopleTable caption={t.results.last(people.last.length)} people={people.last} />
            </div>
          ) : (
            <PeopleTable caption={t.results.single} people={people.best} isAlone />
          )}
        </>
      )}
    </section>
  );
}

/** How many members have which score, in steps of ten points. */
function Spread({ counts }: { readonly counts: People['spread'] }) {
  const t = useTexts();
  const format = useFormat();
  const labels = stepLabels(counts.length);
  const bars = counts.map((count, step) => {
    const label = labels[step] ?? '';
    return {
      label,
      parts: [{ tone: 'main' as const, value: count }],
      text: t.results.withScore(count, label),
      cells: [format.number(count)],
    };
  });
  return (
    <Bars
      label={t.results.spread}
      hint={t.results.spreadHint}
      bars={bars}
      table={{ of: t.results.score, columns: [{ label: t.members.title, kind: 'number' }] }}
    />
  );
}

function PeopleTable({
  caption,
  people,
  isAlone = false,
}: {
  readonly caption: string;
  readonly people: People['best'];
  /** The heading above it is its name. */
  readonly isAlone?: boolean;
}) {
  const t = useTexts();
  const format = useFormat();
  const shown = useShown();
  return (
    <div className="after">
      {!isAlone && <h3>{caption}</h3>}
      <Table
        caption={caption}
        rows={people}
        keyOf={({ place }) => String(place)}
        columns={[
          {
            label: t.members.who,
            kind: 'main',
            cell: ({ place }) => <span className="keep">{t.results.person(place)}</span>,
          },
          {
            label: t.results.sessions,
            kind: 'number',
            cell: ({ sessions }) => shown(sessions),
          },
          {
            label: t.results.average,
            kind: 'number',
            cell: ({ avg_score }) => shown(avg_score),
          },
          {
            label: t.results.delta,
            kind: 'number',
            cell: ({ trend_delta: delta }) => changeText(delta, format.number),
          },
        ]}
      />
    </div>
  );
}

/** The scores of the last weeks, of which the last one is the week of `readAt`. */
function Trend({ trend, readAt }: { readonly trend: Results['trend']; readonly readAt: number }) {
  const t = useTexts();
  const format = useFormat();
  const weeks = weeksOf(trend, readAt).map((week) => ({
    ...week,
    label: t.results.weeksAgo(week.weeksAgo),
  }));
  const textOf = (score: number | null) => (score === null ? t.results.none : format.number(score));
  return (
    <section className="section">
      <div className="section-head">
        <h2>{t.results.trend}</h2>
        <CsvButton
          name="team-results"
          rows={[
            ['week_from', 'score'],
            ...weeks.map(({ monday, score }) => [monday, score ?? '']),
          ]}
        />
      </div>
      <div className="card">
        <Bars
          label={t.results.trend}
          hint={t.results.trendHint}
          max={100}
          bars={weeks.map(({ label, score }) => ({
            label,
            parts: [{ tone: 'main', value: score ?? 0 }],
            text: `${label}: ${textOf(score)}`,
            cells: [textOf(score)],
          }))}
          table={{ of: t.results.week, columns: [{ label: t.results.score, kind: 'number' }] }}
        />
      </div>
    </section>
  );
}
