// Every program of the documentation, run as a reader would run it: on the demo team, and against
// deliveries that our own sender makes.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { oas31 } from 'zod-openapi';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { KEY_PLACEHOLDER } from '../../src/docs/highlight.ts';
import { LANGUAGES } from '../../src/docs/samples/languages.ts';
import { readPrograms, READERS, RECEIVERS } from '../../src/docs/samples/programs.ts';
import { sampleRequest } from '../../src/docs/samples/sample-request.ts';
import { createSite } from '../../src/docs/site.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { because } from '../support/debian.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { missingPrograms, runProgram, startProgram } from './runtimes.ts';

/** What takes something away comes last, and members after what belongs to them. */
const ORDER = ['GET', 'POST', 'PATCH', 'DELETE'];
const SECRET = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';
const BODY = JSON.stringify(eventExample('evaluation.completed'));

const stops: (() => unknown)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

for (const { id, label, write } of LANGUAGES) {
  const missing = missingPrograms(id);
  const why = missing.length === 0 ? null : `missing on this machine: ${missing.join(', ')}`;

  describe.skipIf(why !== null)(`${label}${because(why)}`, { timeout: 1_800_000 }, () => {
    let api: TestApi;
    beforeAll(async () => {
      api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets: true });
    });

    const withKey = (code: string, team = DEMO_TEAM_ID): string =>
      code.replaceAll(KEY_PLACEHOLDER, api.key(team, 'demo'));

    test('calls every operation', async () => {
      const document = JSON.parse(JSON.stringify(openApiDocument(api.url)));
      const site = createSite({
        publicUrl: api.url,
        document: document as oas31.OpenAPIObject,
        allowsLocalReceivers: true,
        deprecation: null,
      });
      const operations = site.reference.operations
        // No request of the log can be known beforehand, and no bulk resend; the endpoint of the
        // demo team is paused, so that none can be made.
        .filter(({ path }) => path !== '/requests/{request_id}' && !path.includes('resend'))
        .toSorted(
          (a, b) =>
            ORDER.indexOf(a.method) - ORDER.indexOf(b.method) ||
            Number(a.path.startsWith('/users')) - Number(b.path.startsWith('/users')),
        );
      const failed: string[] = [];
      for (const operation of operations) {
        const team = operation.isTestOnly ? DEMO_SANDBOX_ID : DEMO_TEAM_ID;
        const code = withKey(write(sampleRequest(operation, site)), team);
        // What it prints differs by language. The names of fields are in all of them.
        const [field = ''] = Object.keys(operation.success.schema.properties ?? {});
        await runProgram(id, code).then(
          (printed) => {
            if (!printed.includes(field)) failed.push(`${operation.summary}: ${printed}`);
          },
          (error: unknown) => failed.push(`${operation.summary}: ${String(error)}`),
        );
      }
      expect(failed).toEqual([]);
    });

    const reader = READERS.find((one) => one.id === id);
    test.skipIf(!reader)('reads all pages of a list', async () => {
      const [sample] = readPrograms(
        READERS.filter((one) => one === reader),
        api.base,
      );
      // A page of three, so that there are several.
      const code = withKey(sample?.code ?? '').replaceAll(/\b200\b/g, '3');
      const listed = (await runProgram(id, code)).match(/mem_\w+/g) ?? [];
      const page = await api.call(api.key(DEMO_TEAM_ID, 'demo'), 'GET', '/users?limit=200');
      const ids = (page.body as { data: { id: string }[] }).data.map((member) => member.id);
      expect(listed).toEqual(ids);
      expect(ids.length).toBeGreaterThan(6);
    });

    const receiver = RECEIVERS.find((one) => one.id === id);
    const sign = (at: Date, ...secrets: string[]) =>
      deliveryHeaders(BODY, { keys: secrets.map(signingKeyOf), eventId: 'evt_01', at });

    async function startReceiver(env: Record<string, string>) {
      const { file = '' } = receiver ?? {};
      const port = await findFreePort();
      const [sample] = readPrograms(
        RECEIVERS.filter((one) => one === receiver),
        api.base,
      );
      const { child, output } = await startProgram(
        id,
        (sample?.code ?? '').replaceAll(/\b4000\b/g, String(port)),
        {
          file,
          env,
          ...(id === 'php' ? { args: ['-S', `127.0.0.1:${port}`, file] } : {}),
        },
      );
      stops.push(() => child.kill('SIGKILL'));
      const sender = createSender({ allowPrivateTargets: true, timeoutMs: 10_000 });
      stops.push(() => sender.close());
      const send = async (headers: Record<string, string>, body = BODY) =>
        (await sender.send(`http://localhost:${port}/webhooks`, headers, body)).responseCode;
      return { child, output, send, hangUp: () => hangUp(port) };
    }

    test.skipIf(!receiver)('receives deliveries, and refuses forged and old ones', async () => {
      const { child, output, send, hangUp } = await startReceiver({ WEBHOOK_SECRET: SECRET });
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`it has ended: ${output()}`);
        return (await send({})) !== null;
      });
      // Whoever hangs up within a body must not end the program.
      await hangUp();
      expect(await send(sign(new Date(), SECRET))).toBe(204);
      await until(() => output().includes('evaluation.completed'));
      expect(output()).toContain('trn_01jc4f6b');

      expect(await send(sign(new Date(), 'whsec_new', SECRET))).toBe(204);

      expect(await send(sign(new Date(), 'whsec_forged'))).toBe(400);
      expect(await send(sign(new Date(), SECRET), BODY.replace('71', '99'))).toBe(400);
      expect(await send(sign(new Date(Date.now() - 301_000), SECRET))).toBe(400);
      expect(await send({ 'svc-signature': 'nonsense' })).toBe(400);
      expect(child.exitCode).toBeNull();
    });

    test.skipIf(!receiver)('accepts nothing while its secret is missing or empty', async () => {
      for (const env of [{}, { WEBHOOK_SECRET: '' }]) {
        const { child, send } = await startReceiver(env);
        await until(async () => child.exitCode !== null || (await send({})) !== null);
        // Anybody can sign with the empty secret.
        expect(await send(sign(new Date(), ''))).not.toBe(204);
      }
    });
  });
}

/** Sends a byte of a body of 100, and closes the connection. */
async function hangUp(port: number): Promise<void> {
  const socket = connect(port, 'localhost');
  await once(socket, 'connect');
  const head = 'POST /webhooks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n';
  await new Promise((done) => socket.write(`${head}{`, done));
  socket.destroy();
  await once(socket, 'close');
}
