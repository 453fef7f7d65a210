import { useInfiniteQuery } from '@tanstack/react-query';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client, type RouterOutputs } from '../lib/api.ts';
import { pagesOptions, refreshesMs } from '../lib/pages.ts';
import { Empty, Loaded } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';

type Mail = RouterOutputs['v1']['sandbox']['mails']['data'][number];

const SHOWN = 20;
/** Mails are written by jobs, a moment after what they tell of. */
const LOOK_MS = 10_000;

/** What the sandbox would have sent, the newest first. */
export function SandboxMails() {
  const t = useTexts();
  const mails = useInfiniteQuery({
    ...pagesOptions(api.v1.sandbox.mails.queryKey({}), (cursor) =>
      client.v1.sandbox.mails.query({ cursor, limit: SHOWN }),
    ),
    refetchInterval: ({ state }) => refreshesMs(state.data, LOOK_MS),
  });
  return (
    <section className="section">
      <h2>{t.sandbox.mails}</h2>
      <p className="hint">{t.sandbox.mailsHint}</p>
      <Loaded query={mails} rows={2}>
        {({ pages }) => {
          const shown = pages.flatMap(({ data }) => data);
          if (shown.length === 0)
            return <Empty title={t.sandbox.noMails} hint={t.sandbox.noMailsHint} />;
          return (
            <>
              <MailTable mails={shown} />
              <More query={mails} shown={shown.length} />
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function MailTable({ mails }: { readonly mails: readonly Mail[] }) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<Mail>[] = [
    {
      label: t.sandbox.mailSubject,
      kind: 'main',
      cell: ({ subject }) => <span className="free">{subject}</span>,
    },
    { label: t.sandbox.mailTo, cell: ({ to }) => <span className="free">{to}</span> },
    {
      label: t.sandbox.mailAt,
      cell: ({ created_at: at }) => <time dateTime={at}>{format.second(at)}</time>,
    },
  ];
  return (
    <Table
      caption={t.sandbox.mails}
      columns={columns}
      rows={mails}
      keyOf={({ id }) => id}
      detail={({ body, subject }) => (
        <details>
          <summary aria-label={`${t.sandbox.mailText}: ${subject}`}>{t.sandbox.mailText}</summary>
          <div className="code">
            <pre>{body}</pre>
          </div>
        </details>
      )}
    />
  );
}
