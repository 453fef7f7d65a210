import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { problemOf } from '../lib/problem.ts';
import { Button } from '../ui/button.tsx';
import { Field, FormProblem, useFieldErrors, type ControlProps } from '../ui/field.tsx';
import { nameOfEvent } from './event-types.ts';
import { PersonChoice } from './person-choice.tsx';
import {
  DURATIONS_S,
  fieldsWithErrors,
  HIGHEST,
  LASTS_S,
  PLAYS,
  readFields,
  REASONS,
  type FieldName,
  type Play,
} from './play-fields.ts';

type Played = RouterOutputs['v1']['sandbox']['simulate'];

/** Forms by which things happen that people and the host application would do. */
export function Plays() {
  const t = useTexts();
  return (
    <section className="section">
      <h2>{t.sandbox.play}</h2>
      <p className="hint">{t.sandbox.playHint}</p>
      <div className="plays">
        {(Object.keys(PLAYS) as Play[]).map((play) => (
          <PlayCard key={play} play={play} />
        ))}
      </div>
    </section>
  );
}

function PlayCard({ play }: { readonly play: Play }) {
  const t = useTexts();
  const cache = useQueryClient();
  const [memberId, setMemberId] = useState<string | undefined | null>(undefined);
  const simulate = useMutation(
    api.v1.sandbox.simulate.mutationOptions({
      // It may have changed anything that is shown somewhere.
      onSettled: () => cache.invalidateQueries(),
    }),
  );
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (simulate.isPending || memberId === null) return;
    const data = new FormData(event.currentTarget);
    simulate.mutate({ play, member_id: memberId, ...readFields(data) });
  };
  return (
    <form className="card" onSubmit={send} noValidate aria-label={t.sandbox.plays[play]}>
      <h3>{t.sandbox.plays[play]}</h3>
      <p className="hint">{t.sandbox.playHints[play]}</p>
      {PLAYS[play].map((name) => (
        <PlayField
          key={name}
          name={name}
          play={play}
          error={simulate.error}
          onMember={setMemberId}
        />
      ))}
      <Problem play={play} error={simulate.error} />
      <Button
        type="submit"
        busy={simulate.isPending}
        why={memberId === null ? t.members.choose : null}
        aria-label={`${t.sandbox.playNow}: ${t.sandbox.plays[play]}`}
      >
        {t.sandbox.playNow}
      </Button>
      <div role="status">
        {simulate.data && !simulate.isPending && <Outcome played={simulate.data} />}
      </div>
    </form>
  );
}

function PlayField({
  name,
  play,
  error,
  onMember,
}: {
  readonly name: FieldName;
  readonly play: Play;
  readonly error: unknown;
  readonly onMember: (memberId: string | undefined | null) => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const errorOf = useFieldErrors(error);
  if (name === 'member_id')
    return <PersonChoice label={t.sandbox.who} none={t.sandbox.whoFirst} onChange={onMember} />;
  const number = (props: ControlProps, max: number) => (
    <input {...props} name={name} type="number" min={0} max={max} step={1} />
  );
  const select = (
    props: ControlProps,
    options: readonly (readonly [string | number, string])[],
  ) => (
    <select {...props} name={name} defaultValue={LASTS_S[play]}>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
  const fields: Readonly<
    Record<
      Exclude<FieldName, 'member_id'>,
      readonly [label: string, hint: string | null, (props: ControlProps) => ReactNode]
    >
  > = {
    score: [t.sandbox.score, null, (props) => number(props, HIGHEST.score)],
    at: [
      t.sandbox.when,
      t.sandbox.whenHint,
      (props) => <input {...props} name={name} type="datetime-local" />,
    ],
    for_s: [
      t.sandbox.lasts,
      null,
      (props) =>
        select(
          props,
          DURATIONS_S.map((s) => [s, format.duration(s)] as const),
        ),
    ],
    reason: [
      t.sandbox.reason,
      null,
      (props) =>
        select(
          props,
          REASONS.map((one) => [one, t.sandbox.reasons[one]] as const),
        ),
    ],
    remaining: [t.sandbox.remaining, null, (props) => number(props, HIGHEST.remaining)],
  };
  const [label, hint, control] = fields[name];
  return (
    <Field label={label} hint={hint} error={errorOf(name)}>
      {control}
    </Field>
  );
}

/** `conflict`: there is nothing that it could be played with. */
function Problem({ play, error }: { readonly play: Play; readonly error: unknown }) {
  const t = useTexts();
  const why = t.sandbox.nothingFits[play];
  if (error && why !== undefined && problemOf(error).code === 'conflict')
    return (
      <div role="alert" className="notice bad">
        {why}
      </div>
    );
  return <FormProblem error={error} fields={fieldsWithErrors(play)} />;
}

function Outcome({ played }: { readonly played: Played }) {
  const t = useTexts();
  const format = useFormat();
  const { events, evaluation_at, until } = played;
  return (
    <div className="notice good">
      <p>
        {t.sandbox.played}{' '}
        {events.length > 0 &&
          t.sandbox.playedEvents(format.list(events.map((type) => nameOfEvent(t, type))))}{' '}
        {evaluation_at !== null && t.sandbox.playedScore(format.second(evaluation_at))}{' '}
        {until !== null && t.sandbox.playedUntil(format.second(until))}
      </p>
      {events.length > 0 && <Link to="/deliveries">{t.sandbox.toDeliveries}</Link>}
    </div>
  );
}
