import { useInfiniteQuery, type QueryKey } from '@tanstack/react-query';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import type { Handover, Subject } from '../lib/links.ts';
import { pagesOptions } from '../lib/pages.ts';
import { Badge, Loaded } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';
import { nameOfKey } from './key-name.ts';
import { endOfLink, isOpen, looksAtAllMs, toneOfLink } from './link-state.ts';
import { WithdrawLink } from './withdraw-link.tsx';

/** A link in a list; `key_name` if it hands a key over. */
type Link = Handover & { readonly key_name?: string };

/** How many are shown at first. */
const FEW = 10;

/** The links of the last day by which keys are handed over. Most teams have none. */
export function KeyLinks() {
  return (
    <Links
      kind="key"
      queryKey={api.admin.handovers.list.queryKey({})}
      read={(cursor) => client.admin.handovers.list.query({ cursor, limit: FEW })}
    />
  );
}

/** The same for the secrets of one webhook endpoint. */
export function EndpointLinks({ endpointId }: { readonly endpointId: string }) {
  const asked = { endpoint_id: endpointId };
  return (
    <Links
      kind="endpoint"
      queryKey={api.admin.endpointHandovers.list.queryKey(asked)}
      read={(cursor) => client.admin.endpointHandovers.list.query({ ...asked, cursor, limit: FEW })}
    />
  );
}

function Links({
  kind,
  queryKey,
  read,
}: {
  readonly kind: Subject['kind'];
  readonly queryKey: QueryKey;
  readonly read: (
    cursor: string | undefined,
  ) => Promise<{ readonly data: readonly Link[]; readonly next_cursor: string | null }>;
}) {
  const t = useTexts();
  const links = useInfiniteQuery({
    ...pagesOptions(queryKey, read),
    refetchInterval: ({ state }) => looksAtAllMs(state.data?.pages),
  });
  if (!links.error && !links.data?.pages[0]?.data.length) return null;
  return (
    <section className="section">
      <h2>{t.handover.of[kind].links}</h2>
      <Loaded query={links}>
        {({ pages }) => {
          const shown = pages.flatMap(({ data }) => data);
          return (
            <>
              <LinkTable kind={kind} links={shown} />
              {links.hasNextPage && <More query={links} shown={shown.length} />}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function LinkTable({
  kind,
  links,
}: {
  readonly kind: Subject['kind'];
  readonly links: readonly Link[];
}) {
  const t = useTexts();
  const format = useFormat();
  const name: Column<Link> = {
    label: t.handover.key,
    kind: 'main',
    cell: ({ key_name = '' }) => <span className="name">{nameOfKey(t, key_name)}</span>,
  };
  const state: Column<Link> = { label: t.keys.state, cell: (link) => <State link={link} /> };
  const created: Column<Link> = {
    label: t.keys.created,
    cell: ({ created_at }) => <time dateTime={created_at}>{format.moment(created_at)}</time>,
  };
  const actions: Column<Link> = {
    label: t.common.actions,
    kind: 'actions',
    cell: (link) =>
      isOpen(link) && (
        <WithdrawLink
          kind={kind}
          id={link.id}
          of={link.key_name ?? format.moment(link.created_at)}
        />
      ),
  };
  return (
    <Table
      caption={t.handover.of[kind].links}
      columns={
        kind === 'key'
          ? [name, state, created, actions]
          : [{ ...created, kind: 'main' }, state, actions]
      }
      rows={links}
      keyOf={({ id }) => id}
      isFaded={(link) => link.state === 'ended'}
    />
  );
}

function State({ link }: { readonly link: Link }) {
  const t = useTexts();
  const format = useFormat();
  const end = format.moment(endOfLink(link));
  return (
    <>
      <Badge tone={toneOfLink(link)}>{t.handover.states[link.state]}</Badge>
      <small className="sub">{isOpen(link) ? t.keys.endsAt(end) : end}</small>
    </>
  );
}
