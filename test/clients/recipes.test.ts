// The programs of the guides under "Recipes", each as a reader runs it: on the demo team, with real
// deliveries. The nightly job has a file of its own.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { makeFolder } from '../support/folder.ts';
import { startLossyProxy } from '../support/lossy-proxy.ts';
import { describeEvaluation, platformOf, type Platform } from '../support/platform.ts';
import { findFreePort } from '../support/ports.ts';
import { SKIPPED } from '../support/python.ts';
import { startReceiver } from '../support/receiver.ts';
import { installRecipes, readRecipe, type Recipes } from '../support/recipes.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}
interface Assigned {
  readonly id: string;
  readonly member_user_id: string;
  readonly external_ref: { readonly id?: string } | null;
}

describe.skipIf(SKIPPED !== '')(`the recipes${SKIPPED}`, () => {
  let api: TestApi;
  let recipes: Recipes;
  let training: Platform;
  let scoring: Platform;
  beforeAll(async () => {
    api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets: true });
    await startDeliveries(api, { clock: systemClock });
    recipes = await installRecipes();
    training = await platformOf(api, 'training');
    scoring = await platformOf(api, 'scoring');
  });

  const key = (): string => api.key(DEMO_TEAM_ID, 'demo');
  const env = (more: Readonly<Record<string, string>> = {}) => ({
    API_KEY: key(),
    API_URL: api.base,
    ...more,
  });
  const get = async <T>(path: string): Promise<T> => {
    const { status, body } = await api.call(key(), 'GET', path);
    expect(status).toBe(200);
    return body as T;
  };
  const post = async <T>(path: string, body: object): Promise<T> =>
    (await api.call(key(), 'POST', path, { body })).body as T;

  describe.each([
    ['TypeScript', 'low-score.ts'],
    ['Python', 'low_score.py'],
  ])('assign after a low score: %s', (name, file) => {
    it('assigns once for each event with a low score', async () => {
      const port = await findFreePort();
      const url = `http://localhost:${port}/`;
      const endpoint = await post<{ id: string; secret: string }>('/webhook-endpoints', {
        url,
        events: ['evaluation.completed'],
      });
      const remove = () => api.call(key(), 'DELETE', `/webhook-endpoints/${endpoint.id}`);
      const proxy = await startLossyProxy(api.url);
      const more = { WEBHOOK_SECRET: endpoint.secret, API_URL: proxy.url + BASE_PATH };
      const folder = await recipes.makeFolder();
      const started = await recipes.start(folder, file, env(more), { port });
      await until(async () => {
        if (started.child.exitCode !== null) throw new Error(started.output());
        return (await statusOf(url, '{}', {})) === 400;
      });

      const score = async (id: string, total: number, fields: object = {}) => {
        const one = { team_id: DEMO_TEAM_ID, training_id: id, user_id: 'usr_5' };
        const created_at = new Date(Date.now() - 900_000).toISOString();
        const finished_at = new Date().toISOString();
        await training.trainings.end.mutate({ ...one, created_at, finished_at, ...fields });
        const evaluation = describeEvaluation('demo', id, total, finished_at);
        await scoring.evaluations.save.mutate({ ...evaluation, team_id: DEMO_TEAM_ID });
      };
      const idOf = async (trainingId: string): Promise<string> => {
        const { data } = await get<Page<{ id: string; data: { training_id: string } }>>(
          '/events?type=evaluation.completed&limit=50',
        );
        return data.find((event) => event.data.training_id === trainingId)?.id ?? '';
      };
      const assignedBy = async (eventId: string): Promise<readonly Assigned[]> =>
        (await get<Page<Assigned>>(`/assignments?external_ref_id=${eventId}`)).data;
      const attemptsOf = async (eventId: string) => {
        const path = `/webhook-endpoints/${endpoint.id}/deliveries?event_type=evaluation.completed`;
        const { data } = await get<Page<{ event_id: string; status: string }>>(path);
        return data.find((one) => one.event_id === eventId)?.status;
      };

      await score(`trn_low_${name}`, 41);
      await score(`trn_high_${name}`, 83);
      const [low, high] = [await idOf(`trn_low_${name}`), await idOf(`trn_high_${name}`)];
      await until(
        async () => (await attemptsOf(low)) === 'ok' && (await attemptsOf(high)) === 'ok',
      );
      expect(await assignedBy(high)).toEqual([]);
      const [made, ...others] = await assignedBy(low);
      expect(made).toMatchObject({ member_user_id: 'usr_5', external_ref: { id: low } });
      expect(others).toEqual([]);

      // A practice that went badly, too, leads to no other one.
      await score(`trn_practice_${name}`, 12, { assignment_id: made?.id ?? '' });
      const practice = await idOf(`trn_practice_${name}`);
      await until(async () => (await attemptsOf(practice)) === 'ok');
      expect(await assignedBy(practice)).toEqual([]);

      // The same delivery twice at once, and when nobody remembers the Idempotency-Key any more.
      const event = (await get<Page<{ id: string }>>('/events?limit=50')).data.find(
        ({ id }) => id === low,
      );
      const body = JSON.stringify(event);
      const again = () => statusOf(url, body, signed(low, body, endpoint.secret));
      expect(await Promise.all([again(), again()])).toEqual([204, 204]);
      await api.db.pool.query('delete from idempotency_record');
      expect(await again()).toBe(204);
      expect(await assignedBy(low)).toHaveLength(1);
      expect(await statusOf(url, body, signed(low, body, 'whsec_other'))).toBe(400);

      // Two that come together when neither has acted yet.
      const invented = { ...event, id: `evt_race_${name}` };
      const racing = JSON.stringify(invented);
      const race = () => statusOf(url, racing, signed(invented.id, racing, endpoint.secret));
      // One whose repeated call meets the other's is refused, and comes again.
      for (const status of await Promise.all([race(), race(), race()]))
        expect(status === 500 ? await race() : status).toBe(204);
      expect(await assignedBy(invented.id)).toHaveLength(1);

      // What was refused while the practice was blocked is tried afresh in another hour.
      const refused = { ...event, id: `evt_refused_${name}` };
      const later = JSON.stringify(refused);
      const retry = () => statusOf(url, later, signed(refused.id, later, endpoint.secret));
      const block = [DEMO_TEAM_ID, 'per_calm'];
      await api.db.pool.query('insert into team_block values ($1, $2)', block);
      expect(await retry()).toBe(500);
      await api.db.pool.query('delete from team_block where (team_id, entry_id) = ($1, $2)', block);
      const hour = "regexp_replace(key, '-[0-9]+$', '-0')";
      await api.db.pool.query(`update idempotency_record set key = ${hour}`);
      expect(await retry()).toBe(204);
      expect(await assignedBy(refused.id)).toHaveLength(1);

      // While the API cannot answer, the delivery is refused, so that it comes again.
      await proxy.shut();
      const away = JSON.stringify({ ...event, id: `evt_away_${name}` });
      expect(await statusOf(url, away, signed('evt_away', away, endpoint.secret))).toBe(500);
      await remove();
    });
  });

  it('joiners and leavers: invites and removes by the file, and can be run again', async () => {
    const own = await startTestApi({ seed: demoSeedFile() });
    const folder = await recipes.makeFolder();
    const listed = async () => {
      const { body } = await own.call(own.key(DEMO_TEAM_ID, 'demo'), 'GET', '/users?limit=200');
      return (body as Page<{ email: string; role: string; status: string }>).data;
    };
    const file = (rows: readonly string[]) =>
      writeFile(join(folder, 'people.csv'), `\u{feff}email,role\r\n${rows.join('\r\n')}\r\n`);
    const sync = async (...args: string[]) => {
      const variables = { API_KEY: own.key(DEMO_TEAM_ID, 'demo'), API_URL: own.base };
      const started = await recipes.start(folder, 'sync_members.py', variables, { args });
      return started.ended;
    };
    const before = await listed();
    const rows = before.map(({ email, role }) => `${email.toUpperCase()},${role}`);
    const [owner] = before.filter(({ role }) => role === 'owner');
    const leaver = 'aylin.yilmaz@hansa-vertrieb.example';
    const without = rows.filter((row) => !row.toLowerCase().startsWith(leaver));
    expect(without).toHaveLength(rows.length - 1);

    // Nothing to do.
    await file(rows);
    expect(await sync()).toMatchObject({ code: 0, output: '' });
    // The owner is not in this one, and nobody can give that role.
    const joiner = 'new.colleague@hansa-vertrieb.example';
    const another = 'another.owner@hansa-vertrieb.example';
    const kept = without.filter((row) => !row.startsWith(owner?.email.toUpperCase() ?? '-'));
    await file([...kept, `${joiner},member`, `${another},owner`]);
    const first = await sync();
    expect(first.output.trim().split('\n')).toEqual([
      `${leaver} has left`,
      `${joiner} is invited`,
      expect.stringContaining(`${another} 422 validation_error: body.role: `),
    ]);
    expect(first.code).toBe(1);
    const after = await listed();
    expect(after.map(({ email }) => email)).toContain(joiner);
    expect(after.map(({ email }) => email)).toContain(owner?.email);
    expect(after.map(({ email }) => email)).not.toContain(leaver);

    // Again: nothing twice.
    await file([...kept, `${joiner},member`]);
    expect(await sync()).toMatchObject({ code: 0, output: '' });
    expect(await listed()).toEqual(after);

    // Half an export, which is a mistake, and one that is meant.
    await file([`${owner?.email},owner`]);
    expect(await sync()).toMatchObject({
      code: 1,
      output: expect.stringContaining('add --many'),
    });
    expect(await listed()).toEqual(after);
    const many = await sync('--many');
    expect(many.output).toContain('last_admin');
    expect((await listed()).map(({ role }) => role).toSorted()).toEqual(['admin', 'owner']);
    await own.stop();
  });

  describe('joiners and leavers:', () => {
    let own: TestApi;
    beforeAll(async () => {
      const named = (name: string, email: string) => makeMember('five', name, { email });
      const members = [named('kim', 'kim@müller.test'), named('jose', 'josé@five.test')];
      own = await startTestApi({ seed: makeSeed([makeTeam('five', { members })]) });
    });

    const members = async () =>
      (await own.call(own.key('team_five'), 'GET', '/users')).body as Page<unknown>;
    const sync = async (content: string | Uint8Array | null, ...args: string[]) => {
      const folder = await recipes.makeFolder();
      if (content !== null) await writeFile(join(folder, 'people.csv'), content);
      const variables = { API_KEY: own.key('team_five'), API_URL: own.base };
      return (await recipes.start(folder, 'sync_members.py', variables, { args })).ended;
    };
    const ROWS = [
      'owner@five.test,owner',
      'admin@five.test,admin',
      'member@five.test,member',
      'kim@müller.test,member',
      'josé@five.test,member',
    ];
    const text = ['email,role', ...ROWS].join('\n');
    /** The file with another row in place of the member's, which is its fourth. */
    const withRow = (row: string) => text.replace('member@five.test,member', row);

    it.each<[string, string | Uint8Array]>([
      ['with semicolons', text.replaceAll(',', ';')],
      ['with tabs, from Excel', text.replaceAll(',', '\t').replaceAll('\n', '\r\n')],
      ['with a mark of UTF-8', `\u{feff}${text}`],
      ['with the line ends of an old Mac', text.replaceAll('\n', '\r')],
      ['with headings in other letter case', text.replace('email,role', ' E-MAIL ,Role')],
      ['with roles in other letter case', withRow('member@five.test,MEMBER')],
      ['with columns in another order', text.replaceAll(/^(.*),(.*)$/gm, '$2,"a ""b"", c",$1')],
      ['with lines within a field', text.replaceAll(/$/gm, ',"a\nb"')],
      ['with empty rows and white space', withRow(' \u{a0}Member@Five.Test , member \n,\n\n')],
      ['with a person twice', `${text}\nMEMBER@five.test,member`],
      ['with the domain of a name server', text.replace('müller', 'xn--mller-kva')],
      ['with the domain of a name server in capitals', text.replace('müller', 'XN--MLLER-KVA')],
      ['with letters that are not composed', text.normalize('NFD')],
    ])('reads a file %s', async (_, content) => {
      const before = await members();
      expect(await sync(content)).toMatchObject({ code: 0, output: '' });
      expect(await members()).toEqual(before);
    });

    const NEEDS = 'people.csv, row 4: needs an email, such as kim@example.com, and a role.';
    const COLUMNS = 'people.csv needs the columns email and role.';
    const NOBODY = 'people.csv lists nobody.';
    const UTF_8 = 'people.csv is not CSV in UTF-8: ';
    it.each<[string, string | Uint8Array | null, string]>([
      ['that is missing', null, UTF_8],
      ['of 0 bytes', '', COLUMNS],
      ['without headings', ROWS.join('\n'), COLUMNS],
      ['with nothing but its headings', '\u{feff}email,role\r\n', NOBODY],
      ['of empty rows', 'email,role\r\n,\r\n', NOBODY],
      ['without roles', text.replaceAll(/,.*/g, ''), COLUMNS],
      ['with a line about its separators', `sep=;\n${text.replaceAll(',', ';')}`, COLUMNS],
      ['in UTF-16', Buffer.from(`\u{feff}${text}`, 'utf16le'), UTF_8],
      ['in UTF-16 without a mark', Buffer.from(text, 'utf16le').swap16(), 'people.csv '],
      ['in cp1252', Buffer.from(text, 'latin1'), UTF_8],
      ['of Excel', Buffer.from('504b030414000600', 'hex'), 'people.csv '],
      ['with a quote that does not end', withRow('member@five.test,"member'), UTF_8],
      ['with quotes within a field', withRow('"member"@five.test,member'), UTF_8],
      ['with a name', withRow('Mem Ber <member@five.test>,member'), NEEDS],
      ['with a name in quotes', withRow('"Ber, Mem <member@five.test>",member'), NEEDS],
      ['with a name in front', withRow('Ber, Mem <member@five.test>,member'), NEEDS],
      ['with brackets', withRow('<member@five.test>,member'), NEEDS],
      ['with mailto:', withRow('mailto:member@five.test,member'), NEEDS],
      ['with two addresses', withRow('member@five.test; m@five.test,member'), NEEDS],
      ['with a point too many', withRow('member@five.test.,member'), NEEDS],
      ['with a zero width space', withRow('member\u{200b}@five.test,member'), NEEDS],
      ['without a domain', withRow('member@five,member'), NEEDS],
      ['with a domain that is none', withRow('member@xn--ü.test,member'), NEEDS],
      ['without an address', withRow(',member'), NEEDS],
      ['without a role', withRow('member@five.test'), NEEDS],
      ['with an empty role', withRow('member@five.test, '), NEEDS],
      ['with an unknown role', withRow('member@five.test,boss'), NEEDS],
      [
        'with two roles for a person',
        withRow('Admin@five.test,member'),
        'people.csv, row 4: admin@five.test has another role above.',
      ],
      [
        'with less than half of the team',
        text.split('\n', 3).join('\n'),
        '3 members are not in the file. If that is right, add --many.',
      ],
    ])('refuses a file %s, and removes nobody', async (_, content, sentence) => {
      const before = await members();
      const { code, output } = await sync(content);
      expect([code, output.slice(0, sentence.length)]).toEqual([1, sentence]);
      expect(output.split('\n')).toHaveLength(2);
      expect(await members()).toEqual(before);
    });

    it.each(['', 'email,role\n', 'email,role\n,\n'])('%j with --many, too', async (content) => {
      const before = await members();
      expect(await sync(content, '--many')).toMatchObject({ code: 1 });
      expect(await members()).toEqual(before);
    });

    it.each(['r&d@five.test', "o'neill@five.test", 'नमस्ते@five.test', 'ada@straße.test'])(
      'invites %s once',
      async (email) => {
        const content = `${text}\n${email},member`;
        expect(await sync(content)).toMatchObject({ code: 0, output: `${email} is invited\n` });
        expect(await sync(content)).toMatchObject({ code: 0, output: '' });
        const again = await sync(text);
        expect(again).toMatchObject({ code: 0, output: `${email} has left\n` });
      },
    );
  });

  it('a Code step accepts deliveries of the service, and nothing else', async () => {
    const receiver = await startReceiver();
    const { secret, id } = await post<{ id: string; secret: string }>('/webhook-endpoints', {
      url: `${receiver.url}/catch`,
      events: ['member.joined'],
    });
    await post('/users', { email: 'step@hansa-vertrieb.example' });
    const [delivery] = await receiver.arrived('/catch');
    const body = delivery?.body.toString() ?? '';
    const signature = String(delivery?.headers['svc-signature']);
    const event = JSON.parse(body) as { id: string; type: string; data: object };
    const expected = { id: event.id, type: event.type, ...event.data };
    const old = signed(event.id, body, secret, Date.now() - 301_000)['svc-signature'] ?? '';
    // Whoever knows nothing can sign with an empty secret.
    const unsigned = signed(event.id, body, '', Date.now())['svc-signature'] ?? '';
    const inputs = [
      { body, signature, secret },
      { body: body.replace('member', 'mumber'), signature, secret },
      { body, signature, secret: 'whsec_other' },
      { body, signature: '', secret },
      { body, signature: old, secret },
      { body, signature: unsigned, secret: '' },
    ];
    const refusal = 'Not sent by the Team Customer API.';
    const outcomes = [expected, refusal, refusal, refusal, 'Too old.', 'There is no secret.'];
    expect(await Promise.all(inputs.map(runJavascriptStep))).toEqual(outcomes);
    const seen = await Promise.all(inputs.map((input) => runPythonStep(recipes.python, input)));
    expect(seen).toEqual(outcomes);
    await api.call(key(), 'DELETE', `/webhook-endpoints/${id}`);
  });

  /** Saves the evaluation again of the training that began first: it was stored first, too. */
  async function saveAgain(total: number): Promise<void> {
    const id = (await allResults()).at(-1)?.id ?? '';
    const evaluation = describeEvaluation('demo', id, total, new Date().toISOString());
    await scoring.evaluations.save.mutate({ ...evaluation, team_id: DEMO_TEAM_ID });
  }

  it('the export has a row for each scored training', async () => {
    // It moves to the front of the list by changes, which a walk would miss behind its first page.
    await saveAgain(57);
    const folder = await recipes.makeFolder();
    const { ended } = await recipes.start(folder, 'export_csv.py', env());
    expect(await ended).toMatchObject({ code: 0, output: '' });
    const [header = '', ...rows] = (await readFile(join(folder, 'results.csv'), 'utf8'))
      .trim()
      .split('\r\n');
    const names = header.split(',');
    const results = await allResults();
    expect(rows.map((row) => row.split(','))).toEqual(
      results.map((one) =>
        names.map((name) =>
          String((name === 'total' ? one.evaluation.score.total : one[name as 'id']) ?? ''),
        ),
      ),
    );
    expect(rows.length).toBeGreaterThan(200);
  });

  it('the query of Power BI is one, and asks for what there is', async () => {
    const text = await readRecipe('results.pq');
    expect(await parsePowerQuery(text)).toBe('Ok');
    expect(await parsePowerQuery(text.replace('Headers =', 'Headers'))).toBe('Error');
    const [, path = ''] = /RelativePath = "([^"]*)"/.exec(text) ?? [];
    const [, query = ''] = /Query = \[([^\]]*)\]/.exec(text) ?? [];
    const pairs = [...query.matchAll(/(\w+) = "([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    expect(pairs).toHaveLength(3);
    const [, list = ''] = /\{("id"[^}]*)\}/.exec(text) ?? [];
    const columns = [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name);
    expect(columns.length).toBeGreaterThan(4);
    const seen: unknown[] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages += 1) {
      const search = new URLSearchParams(pairs);
      // As the text says: `[cursor = cursor]`.
      if (cursor !== '') search.set('cursor', cursor);
      const { status, headers, body } = await api.call(key(), 'GET', `/${path}?${search}`);
      expect([status, headers['svc-ignored-parameters']]).toEqual([200, undefined]);
      const page = body as Page<Record<string, { score?: { total?: unknown } }>>;
      for (const one of page.data) {
        expect(Object.keys(one)).toEqual(expect.arrayContaining(columns));
        expect(one['evaluation']?.score?.total).toEqual(expect.any(Number));
      }
      seen.push(...page.data.map((one) => one['id']));
      if (pages === 0) await saveAgain(58);
      cursor = page.next_cursor;
    }
    expect(pages).toBeGreaterThan(1);
    expect(seen).toEqual((await allResults()).map(({ id }) => id));
  });

  interface Result {
    readonly id: string;
    readonly evaluation: { readonly score: { readonly total: number | null } };
  }
  async function allResults(): Promise<Result[]> {
    const results: Result[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: Page<Result> = await get(
        `/trainings?status=scored&include=evaluation&limit=200${more}`,
      );
      results.push(...page.data);
      cursor = page.next_cursor;
    }
    return results;
  }
});

/** Posts to a receiver. Returns the status; null without a response. */
async function statusOf(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<number | null> {
  const response = await fetch(url, { method: 'POST', body, headers }).catch(() => null);
  return response?.status ?? null;
}

function signed(eventId: string, body: string, secret: string, atMs = Date.now()) {
  const at = new Date(atMs);
  return deliveryHeaders(body, { keys: [signingKeyOf(secret)], eventId, at });
}

interface StepInput {
  readonly body: string;
  readonly signature: string;
  readonly secret: string;
}

/** As Zapier runs a Code step: the body of a function, with `inputData`, which sets `output`. */
async function runJavascriptStep(inputData: StepInput): Promise<unknown> {
  const code = await readRecipe('code-step.js');
  const AsyncFunction = (async () => undefined).constructor as new (
    ...parts: string[]
  ) => (inputData: StepInput, require: NodeJS.Require) => Promise<unknown>;
  const step = new AsyncFunction('inputData', 'require', `let output; ${code}; return output;`);
  return step(inputData, createRequire(import.meta.url)).catch((error: Error) => error.message);
}

const PYTHON_STEP = `import json, sys
given = json.load(sys.stdin)
scope = {"input_data": given["input"]}
try:
    exec(given["code"], scope)
    print(json.dumps(scope["output"]))
except ValueError as error:
    print(json.dumps(str(error)))
`;

async function runPythonStep(python: string, input: StepInput): Promise<unknown> {
  const child = run(python, ['-c', PYTHON_STEP]);
  child.child.stdin?.end(JSON.stringify({ input, code: await readRecipe('code_step.py') }));
  return JSON.parse((await child).stdout);
}

const PARSE = `const { DefaultSettings, TaskUtils } = require('@microsoft/powerquery-parser');
TaskUtils.tryLexParse(DefaultSettings, process.env.TEXT).then((task) => {
  if (task.stage !== 'Parse') throw new Error(task.stage);
  console.log(task.resultKind);
});
`;
let parser: Promise<string> | null = null;

/** Parses the text with Microsoft's parser of Power Query. */
async function parsePowerQuery(text: string): Promise<string> {
  parser ??= installParser();
  const options = { cwd: await parser, env: { ...process.env, TEXT: text } };
  return (await run(process.execPath, ['parse.cjs'], options)).stdout.trim();
}

async function installParser(): Promise<string> {
  const folder = await makeFolder('power-query');
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await writeFile(join(folder, 'parse.cjs'), PARSE);
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', [...install, '@microsoft/powerquery-parser@2.0.0'], { cwd: folder });
  return folder;
}
