// Each fault of a night can be seen by who has only the runbook: an alert fires, a command or a
// statement names it, or a line of a log does.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { untilFiring } from '../deploy/prometheus.ts';
import { because, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { chooseFault, FAULTS } from './faults.ts';
import { startSite } from './site.ts';

const RUNBOOK = new URL('../../scripts/deploy/README.md', import.meta.url);
const reason = whyNot(['prometheus', 'haproxy']);

/** The statement of the runbook that has this text, for this team. */
async function readStatement(part: string, team: string): Promise<string> {
  const spans = (await readFile(RUNBOOK, 'utf8')).matchAll(/`(select [^`]+)`/g);
  const found = [...spans].map(([, text = '']) => text.replaceAll(/\s+/g, ' '));
  const statement = found.find((text) => text.includes(part));
  if (statement === undefined) throw new Error(`the runbook has no statement with "${part}"`);
  return statement.replaceAll("'TEAM'", `'${team}'`);
}

describe('a night', () => {
  test('has other faults in each of its rounds, and the same again', () => {
    const rounds = [1, 2, 3, 4, 5].map((round) => chooseFault('36', round));
    expect(new Set(rounds).size).toBe(5);
    expect([1, 2, 3, 4, 5].map((round) => chooseFault('36', round))).toEqual(rounds);
    expect([1, 2, 3, 4, 5].map((round) => chooseFault('37', round))).not.toEqual(rounds);
  });

  test('is answered by pages that the runbook has', async () => {
    const headings = [...(await readFile(RUNBOOK, 'utf8')).matchAll(/^##+ (.+)$/gm)];
    const known = new Set(headings.map(([, heading]) => heading));
    const pages = Object.values(FAULTS).flatMap((fault) => fault.pages);
    expect(pages.filter((page) => !known.has(page))).toEqual([]);
  });
});

describe.skipIf(reason !== null)(`the faults${because(reason)}`, { timeout: 300_000 }, () => {
  // One after the other: each site is ten processes.
  test.for(Object.entries(FAULTS))('%s shows', async ([, fault], context) => {
    const folder = await makeFolder('night-test');
    const site = await startSite(context, folder);
    const { alert, doctor, trace, sql, log, key } = fault.signs;
    expect(await site.prometheus.firing()).not.toContain(alert);
    const complaint = (await fault.breakIt(site)) ?? '';
    const [team = ''] = /team_\w+/.exec(complaint) ?? [];
    const [requestId = ''] = /[\da-f]{8}-[\da-f-]{27}/.exec(complaint) ?? [];
    if (alert) await untilFiring(site.prometheus, alert);
    if (doctor) await until(async () => doctor.test(await site.command('doctor')));
    // A call is in the request log after two seconds.
    const traced = requestId === '' ? team : requestId;
    if (trace) await until(async () => trace.test(await site.command('trace', traced)));
    if (sql) {
      const [part, answer] = sql;
      const statement = await readStatement(part, team);
      await until(async () => answer.test(JSON.stringify((await site.pool.query(statement)).rows)));
    }
    const logged = () => (log ? site.processOf(log[0]).output() : '');
    if (log) await until(() => log[1].test(logged()));
    const [, prefix = ''] = /"key_prefix":"(\w+)"/.exec(logged()) ?? [];
    if (key) await until(async () => key.test(await site.command('trace', prefix)));
    expect([alert, doctor, trace, sql, log].filter((sign) => sign !== undefined)).not.toEqual([]);
  });
});
