// Our client package in Node, as a customer gets it.
import { beforeAll, expect, it } from 'vitest';
import { OPERATIONS, operationsCalledBy } from './operations.ts';
import { installTypeScriptClient, VERDICTS, verdictsOf } from './typescript.ts';
import type { TypeScriptClient } from './typescript.ts';

const NODE = [process.execPath];

let client: TypeScriptClient;
beforeAll(async () => {
  client = await installTypeScriptClient();
});

it('calls every operation from Node', async () => {
  const called = await operationsCalledBy((env) => client.run(NODE, 'program.ts', env));
  expect(called).toEqual(OPERATIONS);
});

it('verifies deliveries of our sender in Node', async () => {
  expect(await verdictsOf(client, NODE)).toEqual(VERDICTS);
});
