// Reads the statements of this process where they leave it, and tries the rules of lock-rules.ts on
// each transaction that commits. Nothing of the service knows of it.
import pg from 'pg';
import { isSandbox } from '../../src/core/sandbox.ts';
import { declaredStatements } from '../../src/db/statement.ts';
import type { Sent } from './lock-rules.ts';
import { shardTextOf } from './shard-texts.ts';
import { isOfService } from './statements.ts';

/** Records while it is on. */
interface LockRecorder {
  isOn: boolean;
  /** Returns each sequence of statements that it has not returned before. */
  readonly take: () => readonly Recorded[];
}

/** The statements of a transaction that was sent its COMMIT, or a statement alone. */
type Recorded = readonly Sent[];

/** `null`: outside of a transaction; `theirs`: in one that a test has begun itself. */
type State = readonly Sent[] | 'theirs' | null;

/** The part of pg's connection that statements go through. */
interface Wire {
  parse(message: { readonly name?: string; readonly text: string }): void;
  bind(message: { readonly statement?: string; readonly values?: readonly unknown[] }): void;
  query(text: string): void;
}

let recorder: LockRecorder | null = null;

/**
 * Returns the recorder of all connections of the process, which are also those of other test files.
 * The service begins its transactions by the extended protocol; tests and the seed, which are not
 * recorded, by the simple one.
 */
export function openLockRecorder(): LockRecorder {
  return (recorder ??= listen());
}

function listen(): LockRecorder {
  const seen = new Set<string>();
  const recorded: Recorded[] = [];
  const opened: LockRecorder = { isOn: false, take: () => recorded.splice(0) };
  const states = new WeakMap<Wire, State>();
  const prepared = new WeakMap<Wire, Map<string, string>>();
  const keep = (sent: readonly Sent[]): void => {
    const key = sent.map(({ text, team }) => `${team && isSandbox(team)} ${text}`).join('\0');
    if (!opened.isOn || sent.length === 0 || seen.has(key)) return;
    seen.add(key);
    recorded.push(sent);
  };
  const note = (wire: Wire, text: string, [first]: readonly unknown[] = []): void => {
    const state = states.get(wire) ?? null;
    if (state === 'theirs') return;
    if (text === 'BEGIN') states.set(wire, []);
    else if (text === 'COMMIT') {
      states.set(wire, null);
      if (state) keep(state);
    } else {
      const team = OF_TEAM.test(text) && typeof first === 'string' ? first : null;
      const statement = { name: nameOf(text), text, team };
      if (state) states.set(wire, [...state, statement]);
      else if (statement.name !== null) keep([statement]);
    }
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its types do not show these
  const wire = pg.Connection.prototype as unknown as Wire;
  // oxlint-disable-next-line typescript/unbound-method -- they are called on a connection below
  const { parse, bind, query } = wire;
  wire.parse = function (message) {
    const texts = prepared.get(this) ?? new Map<string, string>();
    texts.set(message.name ?? '', message.text);
    prepared.set(this, texts);
    return parse.call(this, message);
  };
  wire.bind = function (message) {
    note(this, prepared.get(this)?.get(message.statement ?? '') ?? '', message.values);
    return bind.call(this, message);
  };
  wire.query = function (text) {
    if (/^\s*begin\b/i.test(text)) states.set(this, 'theirs');
    else if (/^\s*(commit|rollback|end)\b/i.test(text)) states.set(this, null);
    return query.call(this, text);
  };
  return opened;
}

/** SQL that reads the row of a team, or locks it. */
const OF_TEAM = /\bfrom team\s+where id = \$1\b/;

const names = new Map<string, string>();
/** How many of the declared statements are in `names`, or are a test's. */
let read = 0;

/** The name of a declared statement; null for one of Prisma's or of a test. */
function nameOf(text: string): string | null {
  const declared = declaredStatements();
  // Modules load while the tests run.
  if (read < declared.length) {
    read = declared.length;
    for (const what of declared.filter(isOfService)) {
      names.set(what.text, what.name);
      const shardText = shardTextOf(what);
      if (shardText) names.set(shardText.text, what.name);
    }
  }
  return names.get(text) ?? null;
}
