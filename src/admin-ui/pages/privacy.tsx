import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { readAllAnew } from '../lib/forget.ts';
import { whileUnknown } from '../lib/queries.ts';
import { useTask } from '../lib/task.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { announce } from '../ui/notice.tsx';
import { Badge, Loaded, PageHead } from '../ui/states.tsx';
import { liveKeys } from './key-queries.ts';
import {
  idleOf,
  keysConcerned,
  stateOfSwitch,
  type Idle,
  type SwitchName,
} from './privacy-state.ts';

const NAMES = ['member_detail_enabled', 'leaderboard_enabled'] as const satisfies SwitchName[];

/** What a program of the team gets, by the switch. */
const EXAMPLES: Readonly<Record<SwitchName, { readonly on: string; readonly off: string }>> = {
  member_detail_enabled: {
    on: `GET /users → 200
{ "id": "mem_01jc4f3x",
  "email": "kim@example.com",
  "role": "member" }

GET /trainings → 200
{ "data": [ { "score": 71, … } ] }`,
    off: `GET /users → 200
{ "id": "mem_01jc4f3x",
  "role": "member" }


GET /trainings → 403
{ "code": "privacy_restricted" }`,
  },
  leaderboard_enabled: {
    on: `GET /analytics/team → 200
{ "totals": { "avg_score": 63.4 },
  "members": [
    { "sessions": 12,
      "avg_score": 71.3 }, … ] }`,
    off: `GET /analytics/team → 200
{ "totals": { "avg_score": 63.4 },
  "members": [] }`,
  },
};

interface Wanted {
  readonly name: SwitchName;
  readonly to: boolean;
}

/** The team's privacy switches. */
export function PrivacyPage() {
  const t = useTexts();
  // What the reader wants is kept: another admin may turn the switch meanwhile.
  const { task: wanted, begin, close } = useTask<Wanted>();
  const switches = useQuery(api.admin.team.privacy.get.queryOptions({}));
  const results = useQuery(api.admin.analytics.results.queryOptions({}));
  return (
    <>
      <PageHead title={t.privacy.title} intro={t.privacy.intro} />
      <Loaded query={switches} rows={2}>
        {(data) => (
          <>
            <div className="cards">
              {NAMES.map((name) => (
                <SwitchCard
                  key={name}
                  name={name}
                  isOn={data[name]}
                  idle={idleOf(name, data, whileUnknown(results, undefined))}
                  onTurn={begin}
                />
              ))}
            </div>
            {wanted && (
              <TurnSwitch wanted={wanted} isSo={data[wanted.name] === wanted.to} onClose={close} />
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function TurnSwitch({
  wanted,
  isSo,
  onClose,
}: {
  readonly wanted: Wanted;
  /** The switch stands as it is wanted. */
  readonly isSo: boolean;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const set = useMutation(
    api.admin.team.privacy.set.mutationOptions({
      onSuccess: async () => {
        // Every other answer may have changed with it.
        await readAllAnew(cache);
        announce(t.privacy.changed);
        onClose();
      },
    }),
  );
  const { name, to } = wanted;
  const title = useTitles()[name];
  return (
    <Confirm
      title={(to ? t.privacy.titleOn : t.privacy.titleOff)(title)}
      hint={t.privacy.at}
      action={to ? t.privacy.confirmOn : t.privacy.confirmOff}
      look="main"
      wide
      mutation={set}
      onConfirm={() => set.mutate({ [name]: to })}
      onClose={onClose}
    >
      {isSo && !set.isPending && (
        <p className="notice warn" role="alert">
          {t.privacy.changedAlready}
        </p>
      )}
      <Affected wanted={wanted} />
      <p>{t.privacy.example}</p>
      <Examples name={name} />
    </Confirm>
  );
}

function useTitles(): Readonly<Record<SwitchName, string>> {
  const { detail, leaderboard } = useTexts().privacy;
  return { member_detail_enabled: detail, leaderboard_enabled: leaderboard };
}

/** What changes on this page, and for how many keys. */
function Affected({ wanted: { name, to } }: { readonly wanted: Wanted }) {
  const t = useTexts();
  const keys = useQuery(liveKeys());
  const { detailOn, detailOff, leaderboardOn, leaderboardOff } = t.privacy.here;
  const texts = {
    member_detail_enabled: to ? detailOn : detailOff,
    leaderboard_enabled: to ? leaderboardOn : leaderboardOff,
  };
  return (
    <Loaded query={keys} rows={2}>
      {({ data }) => (
        <>
          <p>{texts[name]}</p>
          <Concerned counts={keysConcerned(name, data)} />
        </>
      )}
    </Loaded>
  );
}

function Concerned({ counts }: { readonly counts: ReturnType<typeof keysConcerned> }) {
  const t = useTexts();
  if (counts.length === 0) return null;
  return (
    <>
      <p>{t.privacy.concerned}</p>
      <ul>
        {counts.map(({ scope, count }) => (
          <li key={scope}>{t.privacy.keysWith(count, t.keys.scopeNames[scope] ?? scope)}</li>
        ))}
      </ul>
    </>
  );
}

function SwitchCard({
  name,
  isOn,
  idle,
  onTurn,
}: {
  readonly name: SwitchName;
  readonly isOn: boolean;
  /** Why it changes nothing even if it is on. */
  readonly idle: Idle;
  readonly onTurn: (wanted: Wanted) => void;
}) {
  const t = useTexts();
  const title = useTitles()[name];
  const state = stateOfSwitch(isOn, idle);
  const hints: Readonly<Record<SwitchName, string>> = {
    member_detail_enabled: t.privacy.detailHint,
    leaderboard_enabled: t.privacy.leaderboardHint,
  };
  return (
    <section className="card">
      <h2>{title}</h2>
      <p>{hints[name]}</p>
      <p>
        <Badge tone={state.isGood ? 'good' : 'plain'}>{t.privacy[state.text]}</Badge>
      </p>
      <Button
        aria-label={[title, isOn ? t.privacy.turnOff : t.privacy.turnOn].join(': ')}
        onClick={() => onTurn({ name, to: !isOn })}
      >
        {isOn ? t.privacy.turnOff : t.privacy.turnOn}
      </Button>
    </section>
  );
}

function Examples({ name }: { readonly name: SwitchName }) {
  const t = useTexts();
  return (
    <div className="beside">
      {(['on', 'off'] as const).map((side) => (
        <div key={side}>
          <h3>{side === 'on' ? t.privacy.whenOn : t.privacy.whenOff}</h3>
          <CodeBlock
            label={side === 'on' ? t.privacy.whenOn : t.privacy.whenOff}
            text={EXAMPLES[name][side]}
            canCopy={false}
          />
        </div>
      ))}
    </div>
  );
}
