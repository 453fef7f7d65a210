import { useInfiniteQuery } from '@tanstack/react-query';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client, type RouterOutputs } from '../lib/api.ts';
import { pagesOptions } from '../lib/pages.ts';
import { Badge, Loaded } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';
import { nameOfKey } from './key-state.ts';
import { WithdrawLink } from './withdraw-link.tsx';

type Link = RouterOutputs['admin']['handovers']['list']['data'][number];

/** How many are shown at first. */
const FEW = 10;

/** How often the page asks whether one was opened. */
const LOOK_MS = 15_000;

const isOpen = ({ state }: Link): boolean => state === 'open';

/** The links of the last day by which keys are handed over. Most teams have none. */
export function KeyLinks() {
  const t = useTexts();
  const links = useInfiniteQuery({
    ...pagesOptions(api.admin.handovers.list.queryKey({}), (cursor) =>
      client.admin.handovers.list.query({ cursor, limit: FEW }),
    ),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(isOpen)) ? LOOK_MS : false,
  });
  if (!links.error && !links.data?.pages[0]?.data.length) return null;
  return (
    <section className="section">
      <h2>{t.handover.links}</h2>
      <Loaded query={links}>
        {({ pages }) => {
          const shown = pages.flatMap(({ data }) => data);
          return (
            <>
              <LinkTable links={shown} />
              {links.hasNextPage && <More query={links} shown={shown.length} />}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function LinkTable({ links }: { readonly links: readonly Link[] }) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<Link>[] = [
    {
      label: t.handover.key,
      kind: 'main',
      cell: ({ key_name }) => <span className="name">{nameOfKey(t, key_name)}</span>,
    },
    { label: t.keys.state, cell: (link) => <State link={link} /> },
    {
      label: t.keys.created,
      cell: ({ created_at }) => <time dateTime={created_at}>{format.moment(created_at)}</time>,
    },
    {
      label: t.common.actions,
      kind: 'actions',
      cell: (link) => isOpen(link) && <WithdrawLink id={link.id} of={link.key_name} />,
    },
  ];
  return (
    <Table
      caption={t.handover.links}
      columns={columns}
      rows={links}
      keyOf={({ id }) => id}
      isFaded={({ state }) => state === 'ended'}
    />
  );
}

function State({ link: { state, expires_at, opened_at } }: { readonly link: Link }) {
  const t = useTexts();
  const format = useFormat();
  const tones = { open: 'warn', opened: 'good', ended: 'plain' } as const;
  return (
    <>
      <Badge tone={tones[state]}>{t.handover.states[state]}</Badge>
      <small className="sub">
        {state === 'open'
          ? t.keys.endsAt(format.moment(expires_at))
          : format.moment(opened_at ?? expires_at)}
      </small>
    </>
  );
}
