// A name with several addresses: an attempt goes to the first on which somebody listens.
import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../src/delivery/sender.ts';
import { startReceiver } from '../support/receiver.ts';

const [LISTENS, CLOSED, ALSO_CLOSED] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];

async function sendTo(addresses: readonly (string | undefined)[], times = 1, timeoutMs = 60_000) {
  const receiver = await startReceiver();
  // As name servers do, it gives the addresses in another order each time, first as they are here.
  let turned = [...addresses.slice(-1), ...addresses.slice(0, -1)];
  const sender = createSender({
    allowPrivateTargets: true,
    lookup: async () => {
      turned = [...turned.slice(1), ...turned.slice(0, 1)];
      return turned.map((address) => ({ address: String(address), family: 4 }));
    },
    timeoutMs,
  });
  onTestFinished(() => sender.close());
  const results = [];
  for (let n = 0; n < times; n += 1)
    results.push(await sender.send(`http://receiver.test:${receiver.port}/`, {}, 'x'));
  return { results, requests: receiver.requests.length, connections: receiver.connections() };
}

test.each([
  ['the second', [CLOSED, LISTENS]],
  ['the third', [CLOSED, ALSO_CLOSED, LISTENS]],
  ['the first, and no other', [LISTENS, CLOSED]],
])('reaches %s that takes a connection', async (_which, addresses) => {
  const { results, requests } = await sendTo(addresses);
  expect(results).toMatchObject([{ ok: true, error: null }]);
  expect(requests).toBe(1);
});

test('keeps the connection to the address that took it, in whatever order they come', async () => {
  const { results, requests, connections } = await sendTo([CLOSED, LISTENS], 3);
  expect(results.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect([requests, connections]).toEqual([3, 1]);
});

// Node takes only whole numbers for an address's part of it.
test('has any limit of time', async () => {
  const { results } = await sendTo([CLOSED, LISTENS], 1, 59_999);
  expect(results).toMatchObject([{ ok: true }]);
});

test('fails as the first address did, if nobody listens on any', async () => {
  const { results, requests } = await sendTo([CLOSED, ALSO_CLOSED]);
  expect(results).toMatchObject([{ ok: false, error: 'connection_refused' }]);
  expect(requests).toBe(0);
});

test('fails as the first address did, if the others have no route', async () => {
  const { results } = await sendTo([CLOSED, '255.255.255.255']);
  expect(results).toMatchObject([{ ok: false, error: 'connection_refused' }]);
});

test('tries three addresses at most', async () => {
  const { results } = await sendTo([CLOSED, ALSO_CLOSED, '127.0.0.4', LISTENS]);
  expect(results).toMatchObject([{ ok: false, error: 'connection_refused' }]);
});
