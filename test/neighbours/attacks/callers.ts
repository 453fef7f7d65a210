// Attacks by one caller with a key: as many requests as possible, the worst bodies, and writes and
// answers that wait.
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { BASE_PATH } from '../../../src/http/api/exchange.ts';
import { makeTeam, memberId } from '../../support/seed.ts';
import { ATTACKER, fill, fire, type Attack, type World } from '../world.ts';
import { LARGE_CASES } from './lists.ts';

const MEGABYTE = 1024 * 1024;
/** A body is refused above a megabyte. */
const ALMOST = MEGABYTE - 200;

const json = (key: string) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
});

/** Sends a body over as many connections. Each must be refused. */
function send(connections: number, path: string, body: string): Attack['run'] {
  return async (world) => {
    const shot = {
      path: BASE_PATH + path,
      method: 'POST',
      headers: json(world.key()),
      body,
    } as const;
    const { 422: refused = 0, ...others } = await fire(world, connections, [shot]);
    if (refused === 0) throw new Error(`no body was read: ${JSON.stringify(others)}`);
  };
}

const numbers = `1,`.repeat(ALMOST / 2 - 60);
const nested = `{"user_id":"u","fields":{"a":${'['.repeat(58)}${numbers}1${']'.repeat(58)}}}`;
const events = `{"url":"https://a.test/","events":[${numbers}1]}`;
const longText = `{"user_id":"u","fields":{"a":"${'x'.repeat(ALMOST)}"}}`;

/** Holds as many connections as it can. `begin` writes to each. */
async function hold(
  { url, end }: World,
  connections: number,
  begin: (socket: Socket) => void,
): Promise<void> {
  const { hostname, port } = new URL(url);
  const holdOne = async (): Promise<void> => {
    while (!end.aborted) {
      const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKER });
      socket.on('error', () => undefined);
      socket.once('connect', () => begin(socket));
      await new Promise<void>((resolve) => {
        socket.once('close', resolve);
        end.addEventListener('abort', () => resolve(), { once: true });
      });
      socket.destroy();
      await delay(20);
    }
  };
  await Promise.all(Array.from({ length: connections }, holdOne));
}

const head = (key: string, method: string, path: string): string =>
  `${method} ${BASE_PATH}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;

/** Sends the body byte by byte. */
async function trickle(socket: Socket, key: string): Promise<void> {
  const length = `Content-Type: application/json\r\nContent-Length: ${MEGABYTE}\r\n\r\n`;
  socket.write(head(key, 'POST', '/cases') + length);
  while (!socket.destroyed) {
    socket.write(' ');
    await delay(200);
  }
}

const EIGHT = Array.from({ length: 8 }, (_, index) => `slow${index}`);

/** Sends as much of a body of 1 MB, over four connections of each of eight teams, and no more. */
function stall(bytes: number): Attack['run'] {
  return async (world) => {
    const length = `Content-Type: application/json\r\nContent-Length: ${MEGABYTE}\r\n\r\n`;
    const part = ' '.repeat(bytes);
    const attacks = EIGHT.map((team) =>
      hold(world, 4, (socket) => {
        socket.write(head(world.key(`team_${team}`), 'POST', '/cases') + length + part);
        socket.resume();
      }),
    );
    const [share] = await Promise.all([sendMiddling(world), ...attacks]);
    return share;
  };
}

const MIDDLING_MAX_MS = 1_000;

/**
 * Sends another team's bodies of 18 KB, which need little room. Resolves with the share that the
 * slowest takes of what one may take.
 */
async function sendMiddling({ call, key, end }: World): Promise<number> {
  let slowestMs = 0;
  const body = { user_id: 'usr_unknown', fields: { a: 'x'.repeat(18_000) } };
  while (!end.aborted) {
    const beganAt = performance.now();
    const { status } = await call(key('team_ninth'), 'POST', '/cases', { body });
    if (status >= 500) throw new Error(`a body of 18 KB was answered by ${status}`);
    slowestMs = Math.max(slowestMs, performance.now() - beganAt);
    await delay(50);
  }
  console.log(`the slowest body of 18 KB took ${Math.round(slowestMs)} ms`);
  return slowestMs / MIDDLING_MAX_MS;
}

export const byCallers: readonly Attack[] = [
  {
    name: 'a key that sends as many requests as it can',
    run: async (world) => {
      const headers = { authorization: `Bearer ${world.key()}` };
      await fire(world, 32, [{ path: `${BASE_PATH}/users?limit=100`, headers }]);
    },
  },
  {
    name: 'ten batches of 100 assignments at once, again and again',
    run: async (world) => {
      const assignment = {
        member_id: memberId('attacker', 'member'),
        title: 'One of many',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      };
      const shot = {
        path: `${BASE_PATH}/assignments/batch`,
        method: 'POST',
        headers: json(world.key()),
        body: JSON.stringify({ assignments: Array.from({ length: 100 }, () => assignment) }),
      } as const;
      const { 200: created = 0, ...others } = await fire(world, 10, [shot]);
      console.log(`${created} batches were created`, others);
      if (created === 0) throw new Error('no batch was created');
    },
  },
  { name: 'bodies of 500,000 numbers, 58 levels deep', run: send(40, '/cases', nested) },
  { name: 'bodies of 500,000 events that are none', run: send(40, '/webhook-endpoints', events) },
  { name: '200 bodies of 1 MB at once', run: send(200, '/cases', longText) },
  {
    name: '500 bodies of a key that come byte by byte',
    run: (world) => hold(world, 500, (socket) => void trickle(socket, world.key())),
  },
  {
    name: 'eight teams that announce bodies of 1 MB and send a byte',
    teams: [...EIGHT, 'ninth'].map((team) => makeTeam(team)),
    run: stall(1),
  },
  {
    name: 'eight teams that send all but a byte of bodies of 1 MB',
    teams: [...EIGHT, 'ninth'].map((team) => makeTeam(team)),
    run: stall(MEGABYTE - 1),
  },
  {
    name: '100 connections of a key that read none of their large pages',
    prepare: ({ pool }) => fill(pool, [LARGE_CASES]),
    run: (world) =>
      hold(world, 100, (socket) => {
        socket.pause();
        socket.write(`${head(world.key(), 'GET', '/cases?limit=200')}\r\n`.repeat(3));
      }),
  },
  {
    name: '200 writes that wait for one locked row, whose callers hang up',
    run: async (world) => {
      const holder = await world.pool.connect();
      await holder.query('begin');
      await holder.query(`select from team where id = 'team_attacker' for update`);
      const agent = new Agent({ connect: { localAddress: ATTACKER } });
      const url = `${world.url}${BASE_PATH}/users/${memberId('attacker', 'member')}`;
      const body = JSON.stringify({ role: 'member' });
      const waitAndHangUp = async (_: unknown, index: number): Promise<void> => {
        while (!world.end.aborted) {
          const signal = AbortSignal.timeout(300 + (index % 50) * 100);
          const headers = json(world.key());
          // The hang-up is the attack.
          await request(url, { method: 'PATCH', headers, body, signal, dispatcher: agent }).then(
            (answer) => answer.body.dump(),
            () => undefined,
          );
        }
      };
      await Promise.all(Array.from({ length: 200 }, waitAndHangUp));
      await agent.destroy();
      await holder.query('rollback');
      holder.release();
    },
  },
];
