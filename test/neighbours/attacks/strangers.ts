// Attacks by somebody without a key or a token, from an address of their own.
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { BASE_PATH } from '../../../src/http/api/exchange.ts';
import { ATTACKER, fire, ROUND_TRIP_MS, type Attack, type Shot, type World } from '../world.ts';

/** Sends the request over and over, over as many connections, until the attack ends. */
function flood(connections: number, shot: Shot): Attack['run'] {
  return async (world) => {
    await fire(world, connections, [shot], { reconnects: true });
  };
}

/** Holds as many connections as it can, and opens a new one for each that is closed. */
function hold(connections: number, greet: (socket: Socket) => void): Attack['run'] {
  return async (world) => {
    const holdOne = async (): Promise<void> => {
      while (!world.end.aborted) {
        const socket = open(world);
        socket.once('connect', () => greet(socket));
        await new Promise<void>((resolve) => {
          socket.once('close', resolve);
          world.end.addEventListener('abort', () => resolve(), { once: true });
        });
        socket.destroy();
        await delay(ROUND_TRIP_MS);
      }
    };
    await Promise.all(Array.from({ length: connections }, holdOne));
  };
}

function open({ url }: World): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKER });
  socket.on('error', () => undefined);
  return socket;
}

/** Sends bytes for as long as the service takes them. */
async function pour(socket: Socket, head: string, bytes: string): Promise<void> {
  socket.write(head);
  while (!socket.destroyed) if (!socket.write(bytes)) await delay(1);
}

const REQUEST = `GET ${BASE_PATH}/me HTTP/1.1\r\nHost: x\r\n\r\n`;
const ENDLESS = `POST ${BASE_PATH}/cases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;

/** Words that no page has take longest. */
const MISSPELT = 'xuthenticatjonq+idempotfncykeyx+subscripxionsab+organisatiznalxx+webhook+retries';

export const byStrangers: readonly Attack[] = [
  {
    name: 'a stranger whose path over tRPC is 15 KB of commas',
    run: flood(40, { path: `/trpc/${','.repeat(15_000)}?batch=1` }),
  },
  {
    name: 'a stranger who calls the tRPC API as fast as he can',
    run: flood(200, { path: '/trpc/v1.members.list?input=%7B%7D' }),
  },
  {
    name: 'a stranger who opens sessions as fast as he can',
    run: flood(200, { path: '/trpc-session', method: 'POST' }),
  },
  {
    name: 'a stranger who reads the docs as fast as he can',
    run: flood(200, { path: '/llms-full.txt' }),
  },
  {
    name: 'a stranger who searches the docs as fast as he can',
    run: flood(200, { path: `/docs/search?q=${MISSPELT}` }),
  },
  { name: 'a stranger with 1500 connections that send nothing', run: hold(1500, () => undefined) },
  {
    name: 'a stranger with 4000 connections that send half a request',
    run: hold(4000, (socket) => socket.write(REQUEST.slice(0, -4))),
  },
  {
    name: 'a stranger with 2500 connections on each of which a refusal waits',
    run: hold(2500, (socket) => {
      socket.on('data', () => socket.write(REQUEST));
      socket.write(REQUEST);
    }),
  },
  {
    name: 'a stranger who sends thousands of requests without waiting for a response',
    run: hold(40, (socket) => socket.write(REQUEST.repeat(5000))),
  },
  {
    name: 'a stranger whose bodies have no end',
    run: hold(40, (socket) => void pour(socket, ENDLESS, `8000\r\n${'x'.repeat(0x8000)}\r\n`)),
  },
];
