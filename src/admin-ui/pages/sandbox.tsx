import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { lastError } from '../lib/field-problems.ts';
import { IS_SANDBOX, placeIn } from '../lib/mode.ts';
import { useSession } from '../lib/session.ts';
import { useTask } from '../lib/task.ts';
import { Button } from '../ui/button.tsx';
import { Field, FormProblem } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { CreateSandbox } from './create-sandbox.tsx';
import { Plays } from './plays.tsx';
import { RemoveSandbox } from './remove-sandbox.tsx';
import { ResetSandbox } from './reset-sandbox.tsx';
import { isAhead, looksAgainMs, speedsFor, type Sandbox } from './sandbox-state.ts';
import { SandboxMails } from './sandbox-mails.tsx';

/** In the sandbox: what is played there. In the live team: the sandbox as a whole. */
export function SandboxPage() {
  return IS_SANDBOX ? <Rehearsal /> : <FromOutside />;
}

function Rehearsal() {
  const t = useTexts();
  const resetting = useTask<true>();
  const found = useQuery({
    ...api.admin.sandbox.get.queryOptions({}),
    refetchInterval: ({ state }) => looksAgainMs(state.data?.sandbox),
  });
  const sandbox = found.data?.sandbox;
  return (
    <>
      <PageHead title={t.sandbox.name} intro={t.sandbox.intro}>
        <Button look="danger" onClick={() => resetting.begin(true)}>
          {t.sandbox.reset}
        </Button>
      </PageHead>
      <Loaded query={found} rows={2}>
        {(data) => data.sandbox && <State sandbox={data.sandbox} />}
      </Loaded>
      <Plays />
      <SandboxMails />
      {resetting.task && sandbox && (
        <ResetSandbox scenario={sandbox.scenario} onClose={resetting.close} />
      )}
    </>
  );
}

/** What the sandbox holds, and what is being played. */
function State({ sandbox }: { readonly sandbox: Sandbox }) {
  const t = useTexts();
  const format = useFormat();
  const cache = useQueryClient();
  const { scenario, reset_at, speed, suspended_until, receivers_fail_until } = sandbox;
  const done = (text: string) => async () => {
    await cache.invalidateQueries(api.admin.sandbox.get.pathFilter());
    announce(text);
  };
  const end = useMutation(
    api.v1.sandbox.simulate.mutationOptions({ onSuccess: done(t.sandbox.ended) }),
  );
  const update = useMutation(
    api.v1.sandbox.update.mutationOptions({ onSuccess: done(t.sandbox.speedSaved) }),
  );
  const played = [
    { play: 'team_suspended', label: t.sandbox.suspendedUntil, until: suspended_until },
    { play: 'webhooks_failing', label: t.sandbox.failingUntil, until: receivers_fail_until },
  ] as const;
  return (
    <>
      {played.map(
        ({ play, label, until }) =>
          isAhead(until) && (
            <div key={play} className="notice warn">
              <p>
                {label} <time dateTime={until}>{t.sandbox.until(format.second(until))}</time>
              </p>
              <Button
                busy={end.isPending}
                aria-label={`${t.sandbox.end}: ${label}`}
                onClick={() => end.mutate({ play, for_s: 0 })}
              >
                {t.sandbox.end}
              </Button>
            </div>
          ),
      )}
      <dl className="facts pairs">
        <dt>{t.sandbox.scenarioIs}</dt>
        <dd>{t.sandbox.scenarios[scenario] ?? scenario}</dd>
        <dt>{t.sandbox.resetAt}</dt>
        <dd>
          <time dateTime={reset_at}>{format.second(reset_at)}</time>
        </dd>
      </dl>
      <div className="speed after">
        <Field label={t.sandbox.speed} hint={t.sandbox.speedHint}>
          {(props) => (
            <select
              {...props}
              value={update.isPending ? update.variables.speed : speed}
              onChange={(event) => update.mutate({ speed: Number(event.currentTarget.value) })}
            >
              {speedsFor(speed).map((one) => (
                <option key={one} value={one}>
                  {one === 1 ? t.sandbox.speedReal : t.sandbox.speedOf(format.number(one))}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <FormProblem error={lastError(end, update)} />
    </>
  );
}

/** The live team is not rehearsed with. It can have a sandbox, and open it. */
function FromOutside() {
  const t = useTexts();
  const { has_sandbox } = useSession();
  const creating = useTask<true>();
  return (
    <>
      <PageHead title={t.sandbox.name} intro={t.sandbox.intro} />
      {has_sandbox ? (
        <Existing />
      ) : (
        <Empty title={t.sandbox.none} hint={t.sandbox.what}>
          <Button look="main" onClick={() => creating.begin(true)}>
            {t.sandbox.create}
          </Button>
        </Empty>
      )}
      {creating.task && <CreateSandbox onClose={creating.close} />}
    </>
  );
}

function Existing() {
  const t = useTexts();
  const format = useFormat();
  const removing = useTask<true>();
  const found = useQuery(api.admin.sandbox.get.queryOptions({}));
  return (
    <Loaded query={found} rows={2}>
      {({ sandbox }) =>
        sandbox && (
          <>
            <p>{t.sandbox.what}</p>
            <dl className="facts pairs">
              <dt>{t.sandbox.scenarioIs}</dt>
              <dd>{t.sandbox.scenarios[sandbox.scenario] ?? sandbox.scenario}</dd>
              <dt>{t.sandbox.createdAt}</dt>
              <dd>
                <time dateTime={sandbox.created_at}>{format.day(sandbox.created_at)}</time>
              </dd>
              <dt>{t.sandbox.resetAt}</dt>
              <dd>
                <time dateTime={sandbox.reset_at}>{format.moment(sandbox.reset_at)}</time>
              </dd>
            </dl>
            <div className="actions after">
              <a className="button main" href={placeIn('test', '/play')}>
                {t.sandbox.open}
              </a>
              <Button look="danger" onClick={() => removing.begin(true)}>
                {t.sandbox.remove}
              </Button>
            </div>
            {removing.task && <RemoveSandbox onClose={removing.close} />}
          </>
        )
      }
    </Loaded>
  );
}
