// Our client package, as a customer gets it: the tarball, installed into an empty folder.
import { execFile } from 'node:child_process';
import { cp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import { makeFolder } from '../support/folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);

export interface TypeScriptClient {
  /** The folder into which it is installed, with `program.ts`, which calls every operation. */
  readonly project: string;
  readonly tarball: string;
  /** Runs a program of the project by this command. Resolves with what it prints. */
  readonly run: (
    command: readonly string[],
    file: string,
    env: Readonly<Record<string, string>>,
  ) => Promise<unknown>;
}

/** Builds the client, and installs it and these packages of npm. */
export async function installTypeScriptClient(
  ...packages: readonly string[]
): Promise<TypeScriptClient> {
  const project = await makeFolder('client');
  await execute(process.execPath, [join(root, 'scripts/build-client.ts')], { cwd: root });
  const names = await readdir(join(root, 'build/client'));
  const tarball = join(root, 'build/client', names.find((name) => name.endsWith('.tgz')) ?? '');
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts'];
  await execute('npm', [...install, tarball, ...packages], { cwd: project });
  await cp(join(root, 'test/clients/every-operation.ts'), join(project, 'program.ts'));
  return {
    project,
    tarball,
    run: async ([command = '', ...args], file, env) => {
      const options = { cwd: project, env: { ...process.env, ...env } };
      const { stdout } = await execute(command, [...args, file], options);
      return JSON.parse(stdout);
    },
  };
}

/** What {@link verdictsOf} resolves with. */
export const VERDICTS = [
  'evaluation.completed',
  'evaluation.completed',
  'signature_mismatch',
  'signature_mismatch',
];

/** Verifies deliveries of our sender by the client: two genuine ones, two forged ones. */
export async function verdictsOf(
  { project, run }: TypeScriptClient,
  command: readonly string[],
): Promise<unknown> {
  const secret = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';
  const body = JSON.stringify(eventExample('evaluation.completed'));
  const sign = (...secrets: string[]) =>
    deliveryHeaders(body, { keys: secrets.map(signingKeyOf), eventId: 'evt_01', at: new Date() });
  const given = [
    [body, sign(secret)],
    [body, sign('whsec_new', secret)],
    [body, sign('whsec_forged')],
    [body.replace('71', '99'), sign(secret)],
  ];
  await writeFile(join(project, 'verify.mjs'), VERIFY);
  return run(command, 'verify.mjs', { GIVEN: JSON.stringify(given), SECRET: secret });
}

const VERIFY = `import { env } from 'node:process';
import { verifyWebhook } from '@team-customer-api/client';
const results = [];
for (const [body, headers] of JSON.parse(env.GIVEN))
  results.push(
    await verifyWebhook(new TextEncoder().encode(body), new Headers(headers), env.SECRET).then(
      (event) => event.type,
      (error) => error.reason,
    ),
  );
console.log(JSON.stringify(results));
`;
