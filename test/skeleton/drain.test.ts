// Which answers a client that pipelines gets from a connection that is about to end.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { createGuardedServer } from '../../src/runtime/connections.ts';
import { trackRequests } from '../../src/runtime/drain.ts';
import { openConnection, requestBytes } from '../contract/raw-http.ts';
import { startTestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const get = (path: string) => requestBytes(`GET ${path} HTTP/1.1`, []);

/** Resolves with how many answers come, and which of them say that they are the last one. */
async function answersOf(client: ReturnType<typeof openConnection>, count: number) {
  const closing: number[] = [];
  for (let n = 0; n < count; n += 1)
    if ((await client.answer()).headers['connection'] === 'close') closing.push(n);
  expect(await client.ended()).toBe('');
  return closing;
}

describe('when a process stops', () => {
  async function serve() {
    const { server } = createGuardedServer();
    const requests = trackRequests(server);
    const held: ServerResponse[] = [];
    server.on('request', (_request, response) => void held.push(response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const client = openConnection((server.address() as AddressInfo).port);
    const begin = async (count: number) => {
      const all = held.length + count;
      client.send(Buffer.concat(Array.from({ length: count }, () => get('/'))));
      await until(() => held.length === all);
    };
    return { requests, held, client, begin };
  }

  test('a connection ends with its last answer, also to a request that comes then', async () => {
    const { requests, held, client, begin } = await serve();
    await begin(3);
    requests.closeConnections();
    await begin(1);
    for (const response of held) response.end('{}');
    expect(await answersOf(client, 4)).toEqual([3]);
    await requests.done();
  });

  test('answers that wait for an earlier one are sent, too', async () => {
    const { requests, held, client, begin } = await serve();
    await begin(2);
    held[1]?.end('{}');
    requests.closeConnections();
    held[0]?.end('{}');
    expect(await answersOf(client, 2)).toEqual([]);
  });

  test('what a client has asked for that has hung up is not waited for', async () => {
    const { requests, held, client, begin } = await serve();
    await begin(3);
    held[0]?.end('{}');
    await client.answer();
    client.close();
    expect(await requests.done()).toBeUndefined();
  });
});

test('a body that nobody wants costs no answer to what came with it', async () => {
  const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
  const client = openConnection(api.port);
  const key = `Authorization: Bearer ${api.key('team_a')}`;
  const body = 'x'.repeat(20_000);
  const length = `Content-Length: ${body.length}`;
  const first = requestBytes(`GET ${BASE_PATH}/me HTTP/1.1`, [key, length], body);
  client.send(Buffer.concat([first, get('/healthz')]));
  expect(await answersOf(client, 2)).toEqual([1]);
});
