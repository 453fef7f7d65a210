// An upgrade of pg: which of the undocumented names that the fast wire relies on are gone. And
// nothing else of ours relies on any.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { privateFiles, UNDOCUMENTED } from '../../src/db/wire/undocumented.ts';

type Place = keyof typeof UNDOCUMENTED;

const SRC = join(import.meta.dirname, '../../src');
/** The file that may cast to what pg hides. */
const THE_LIST = 'db/wire/undocumented.ts';

/** What has the names, as it is installed. */
const installed: Readonly<Record<Exclude<Place, 'pg Connection, events'>, object>> = {
  'pg Client': new pg.Client(),
  'pg Connection': new pg.Connection(),
  'pg Connection, to cancel': new pg.Connection(),
  'pg Query': new pg.Query('select $1', ['x'], () => undefined),
  'pg-protocol Parser': new privateFiles.Parser(),
  files: privateFiles,
};

describe.each(Object.entries(installed))('%s has', (place, holder) => {
  test.each(Object.entries(UNDOCUMENTED[place as Place]))('%s, which is needed: %s', (name) => {
    expect(Reflect.has(holder, name)).toBe(true);
  });
});

/** A message of the protocol: its type, its length and the rest. */
function message(type: string, rest: string): Buffer {
  const body = Buffer.from(rest, 'latin1');
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const MESSAGES = {
  parameterStatus: [
    message('S', 'in_hot_standby\0off\0'),
    { parameterName: 'in_hot_standby', parameterValue: 'off' },
  ],
  errorMessage: [message('E', 'SERROR\0C26000\0Mgone\0\0'), { code: '26000' }],
} as const;

test.each(Object.keys(UNDOCUMENTED['pg Connection, events']) as (keyof typeof MESSAGES)[])(
  'a connection of pg tells of %s',
  async (event) => {
    const [bytes, expected] = MESSAGES[event];
    const connection = new pg.Connection() as pg.Connection & {
      attachListeners(stream: PassThrough): void;
    };
    const stream = new PassThrough();
    const told = new Promise((resolve) => connection.on(event, resolve));
    connection.attachListeners(stream);
    stream.write(bytes);
    expect(await told).toMatchObject(expected);
  },
);

describe('no other file', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.tsx?$/.test(file) && !file.startsWith('db/generated/') && file !== THE_LIST,
  );
  const faultsOf = (isFault: (text: string, file: string) => boolean): string[] =>
    files.filter((file) => isFault(readFileSync(join(SRC, file), 'utf8'), file));

  test('imports a file of pg or pg-protocol by its path, beyond types', () => {
    const pattern = /import (?!type)[^;]*from 'pg(?:-protocol)?\/|\('pg(?:-protocol)?\//;
    expect(faultsOf((text) => pattern.test(text))).toEqual([]);
  });

  test('uses pg and casts to what pg hides', () => {
    const isOfPg = (text: string, file: string): boolean =>
      file.startsWith('db/wire/') || /from 'pg(?:-protocol)?'/.test(text);
    const hides = /as unknown as (?!PrismaClient|TeamPrisma|pg\.)|Reflect\.get|Object\.create\(/;
    expect(faultsOf((text, file) => isOfPg(text, file) && hides.test(text))).toEqual([]);
  });

  test('outside the room reaches a connection, or names what is told with the login', () => {
    const reaches =
      /\.connection\.(?:stream|on)\b|\bpg\.(?:Query|Connection)\b|wire\/undocumented\.ts/;
    const names = /\b(?:processID|secretKey)\b/;
    const isOutside = (file: string): boolean => !file.startsWith('db/wire/');
    expect(
      faultsOf((text, file) => isOutside(file) && (reaches.test(text) || names.test(text))),
    ).toEqual([]);
  });
});
