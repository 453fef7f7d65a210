import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useLanguage, useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { whileUnknown } from '../lib/queries.ts';
import { retriesMissing } from '../lib/retries.ts';
import { CopyButton } from '../ui/button.tsx';
import { Crumbs } from '../ui/crumbs.tsx';
import { DocsLink } from '../ui/docs-link.tsx';
import { isMissing, Missing } from '../ui/not-found.tsx';
import { Loaded, PageHead } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { nameOfKey } from './key-name.ts';
import type { NamedKey } from './key-queries.ts';
import { RequestStatus } from './request-status.tsx';

type Detail = RouterOutputs['admin']['requests']['get'];

const route = getRouteApi('/requests/$requestId');
const LOOK_EVERY_MS = 2_000;

/** One call, and why it was refused. */
export function RequestPage() {
  const { requestId } = route.useParams();
  const t = useTexts();
  const request = useQuery({
    ...api.admin.requests.get.queryOptions({ request_id: requestId }),
    // A call is in the log a few seconds after its response.
    retry: retriesMissing,
    retryDelay: LOOK_EVERY_MS,
  });
  const keys = useQuery({
    ...api.admin.apiKeys.names.queryOptions({
      key_ids: [whileUnknown(request, null)?.key_id ?? ''],
    }),
    enabled: request.isSuccess,
  });
  if (isMissing(request.error))
    return (
      <>
        <Crumbs to="/requests">{t.requests.title}</Crumbs>
        <Missing
          title={t.requests.missing}
          id={requestId}
          hint={t.requests.missingHint}
          error={request.error}
        >
          <Link to="/requests">{t.requests.toList}</Link>
        </Missing>
      </>
    );
  return (
    <>
      <Crumbs to="/requests">{t.requests.title}</Crumbs>
      <Loaded query={request} heading={t.finder.request} isWaiting={keys.isPending}>
        {(data) => <RequestView request={data} apiKey={whileUnknown(keys, null)?.data[0]} />}
      </Loaded>
    </>
  );
}

/** `apiKey`: the one that it was made with, if it is known. */
function RequestView({
  request,
  apiKey,
}: {
  readonly request: Detail;
  readonly apiKey: NamedKey | undefined;
}) {
  const t = useTexts();
  const format = useFormat();
  const { id, method, route: path, status, key_id, created_at: at, network } = request;
  return (
    <>
      <PageHead
        title={
          <code>
            {method} {path}
          </code>
        }
        intro={
          <>
            <code>{id}</code> <CopyButton text={id} label={t.requests.id} />
          </>
        }
      />
      <dl className="facts pairs">
        <dt>{t.requests.status}</dt>
        <dd>
          <RequestStatus status={status} /> {status === 499 && t.requests.hungUp}
          {status < 400 && t.requests.fine}
        </dd>
        <dt>{t.audit.when}</dt>
        <dd>
          <time dateTime={at}>{format.second(at)}</time> ({format.ago(at)})
        </dd>
        <dt>{t.requests.took}</dt>
        <dd>{t.deliveries.ms(format.number(request.duration_ms))}</dd>
        <dt>{t.usage.key}</dt>
        <dd>
          <Link to="/requests" search={{ key: key_id }}>
            {apiKey ? nameOfKey(t, apiKey.name) : key_id}
          </Link>
        </dd>
        <dt>{t.requests.network}</dt>
        <dd>{network === null ? t.common.unknown : <code>{network}</code>}</dd>
      </dl>
      {request.error_code !== null && <Why request={request} code={request.error_code} />}
      {request.error_code === null && request.errors !== null && <Faults errors={request.errors} />}
      <p className="hint section">{t.requests.notKept}</p>
    </>
  );
}

function Why({ request, code }: { readonly request: Detail; readonly code: string }) {
  const t = useTexts();
  const language = useLanguage();
  const { help, errors } = request;
  return (
    <section className="section">
      <h2>{help ? help.title[language] : t.requests.code}</h2>
      <div className="facts">
        {help && (
          <>
            <p>
              <Marked text={help.cause[language]} />
            </p>
            <p>
              <strong>{t.deliveries.whatToDo}:</strong> <Marked text={help.remedy[language]} />
            </p>
          </>
        )}
        <p className="hint">
          <DocsLink page="/errors" part={code}>
            <code>{code}</code>
          </DocsLink>
          {' · '}
          <Link to="/requests" search={{ code }}>
            {t.requests.sameCode}
          </Link>
        </p>
      </div>
      {errors !== null && errors.length > 0 && <Faults errors={errors} />}
    </section>
  );
}

function Faults({ errors }: { readonly errors: NonNullable<Detail['errors']> }) {
  const t = useTexts();
  return (
    <>
      <h3>{t.requests.faults}</h3>
      <Table
        caption={t.requests.faults}
        rows={errors.map((error, place) => ({ ...error, place }))}
        keyOf={({ place }) => String(place)}
        columns={[
          { label: t.requests.where, kind: 'main', cell: ({ path }) => <code>{path}</code> },
          {
            label: t.requests.whatIsWrong,
            cell: ({ code }) => (
              <>
                {t.requests.faultNames[code] ?? t.requests.faultOther}
                <code className="sub">{code}</code>
              </>
            ),
          },
        ]}
      />
    </>
  );
}

/** A text in which backticks mark code. */
function Marked({ text }: { readonly text: string }) {
  return text
    .split('`')
    .map((part, place) =>
      place % 2 === 1 ? <code key={place}>{part}</code> : <span key={place}>{part}</span>,
    );
}
