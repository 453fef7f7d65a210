// Our Python client, as a customer gets it: the wheel, installed by pip into an environment of its
// own.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/webhook-verification.ts';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import { startTestApi } from '../support/api.ts';
import { makeFolder } from '../support/folder.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { installPythonClient, SKIPPED, type PythonClient } from '../support/python.ts';
import { OPERATIONS, operationsCalledBy } from './operations.ts';

const programs = join(import.meta.dirname, 'python');
const SECRET = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';

describe.skipIf(SKIPPED !== '')(`the Python client${SKIPPED}`, () => {
  let client: PythonClient;
  beforeAll(async () => {
    client = await installPythonClient();
  });

  const runJson = async (
    program: string,
    options: Parameters<PythonClient['run']>[1] = {},
  ): Promise<unknown> => JSON.parse(await client.run(join(programs, program), options));

  it.each(['sync', 'async'])('calls every operation (%s)', async (MODE) => {
    const called = await operationsCalledBy((env) =>
      runJson('every_operation.py', { env: { ...env, MODE } }),
    );
    expect(called).toEqual(OPERATIONS);
  });

  it('removes nobody by a file with a row that is no address', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('acme')]) });
    const folder = await makeFolder('recipe');
    const rows = 'email;role\nowner@acme.test;owner\nMem Ber <member@acme.test>;member\n';
    await writeFile(join(folder, 'people.csv'), rows);
    const env = client.env({ API_URL: api.base, API_KEY: api.key('team_acme') });
    const recipe = join(import.meta.dirname, '../../src/docs/examples/sync_members.py');
    const ended = spawn(client.python, ['-W', 'error', recipe], { cwd: folder, env });
    expect(await text(ended.stderr)).toMatch(/^people\.csv, row 3: .+\n$/);
    const { body } = await api.call(api.key('team_acme'), 'GET', '/users');
    expect(body).toMatchObject({ data: { length: 3 } });
  });

  it('agrees with the verification of the other client about any delivery', async () => {
    const now = 1_800_000_000;
    const body = JSON.stringify(eventExample('member.joined'));
    const headersOf = (text: string, secret = SECRET, t = now) => {
      const keys = [signingKeyOf(secret)];
      const at = new Date(t * 1000);
      return deliveryHeaders(text, { keys, eventId: 'evt_01', at })['svc-signature'] ?? '';
    };
    const genuine = headersOf(body);
    const [, v1 = ''] = genuine.split('v1=');
    const signature = fc.oneof(
      fc.constant(genuine),
      fc.constant(`${genuine},v1=${'0'.repeat(64)}`),
      fc.constant(`t=${now}, v1=${'0'.repeat(64)}, v1=${v1},v0=x`),
      fc.constantFrom(`t=0${now},v1=${v1}`, `t=${now},t=${now},v1=${v1}`, `v1=${v1}`, ''),
      fc.constantFrom(`t=${now},v1=${v1.toUpperCase()}`, `t=${now},v1=${v1}0`, `t=${now}\n`),
      fc
        .constantFrom(...Array.from(' \t\n\v\u001C\u0085\u00A0\u2003\uFEFF'))
        .map((space) => `t=${now},${space}v1=${v1}${space}`),
      fc.constantFrom(`t=${now}\u0661,v1=${v1}`, `t=\u0661,v1=${v1}`, `t=${now},v1=é`),
      fc.integer({ min: -400, max: 400 }).map((age) => headersOf(body, SECRET, now + age)),
      fc.string().map((text) => `t=${now},v1=${text}`),
      fc.string().map((text) => `t=${text},v1=${v1}`),
    );
    const bodies = fc.constantFrom(body, `${body} `, '', body.replace('mem', 'mom'));
    const odd = ['null', '[]', '{}', '{"id":', '\uFEFF{}', '{"id":"e","type":"x","data":[]}'];
    const signed = (...values: string[]) => ({
      body,
      headers: values.map((value) => ['Svc-Signature', value]),
      secret: SECRET,
      now,
    });
    const outcomes = {
      accepted: signed(genuine),
      signature_missing: signed(),
      signature_malformed: signed(`v1=${v1}`),
      signature_mismatch: signed(headersOf(body, 'whsec_other')),
      timestamp_too_old: signed(headersOf(body, SECRET, now - 301)),
      timestamp_in_future: signed(headersOf(body, SECRET, now + 301)),
      body_malformed: { ...signed(headersOf('[]')), body: '[]' },
    };
    const deliveries = [
      ...Object.values(outcomes),
      signed(genuine, genuine),
      ...odd.map((text) => ({
        body: text,
        headers: [['svc-signature', headersOf(text)]],
        secret: SECRET,
        now,
      })),
      ...fc
        .sample(fc.tuple(signature, bodies, fc.constantFrom(SECRET, 'whsec_other')), 2_000)
        .map(([value, text, secret]) => ({
          body: text,
          headers: [['svc-signature', value]],
          secret,
          now,
        })),
    ];
    const expected = deliveries.map((one) => {
      try {
        const headers = one.headers as [string, string][];
        verifyWebhook(one.body, headers, one.secret, { now: new Date(one.now * 1000) });
        return 'accepted';
      } catch (error) {
        if (error instanceof WebhookVerificationError) return error.reason;
        throw error;
      }
    });
    const constructed = Object.keys(outcomes);
    expect(expected.slice(0, constructed.length)).toEqual(constructed);
    const input = JSON.stringify(
      deliveries.map((one) => ({ ...one, body: Buffer.from(one.body).toString('base64') })),
    );
    expect(await runJson('verify.py', { input })).toEqual(expected);
  });
});
