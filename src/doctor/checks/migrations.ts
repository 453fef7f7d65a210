import { UNFINISHED } from '../../db/citus/distribution.ts';
import {
  expectedMigrations,
  faultOfLedger,
  OWN_DATABASE,
  type Migration,
} from '../../db/operator/migrations.ts';
import { checkOfDatabase, fail, orOk, warn, type Finding } from '../check.ts';

interface Applied {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

/** The ledger of migrations against those of this release. */
export const migrations = checkOfDatabase('migrations', 'Upgrade and rollback', async (ask) => {
  const [known] = await ask<{ ledger: boolean; jobs: boolean; unfinished: boolean }>(
    `select to_regclass('public._prisma_migrations') is not null as ledger,
       to_regclass('graphile_worker.migrations') is not null as jobs,
       to_regclass('public.${UNFINISHED}') is not null as unfinished`,
  );
  if (!known?.ledger) return [fail('the database has no tables', 'Run "run migrate".')];
  const applied = await ask<Applied>(
    `select migration_name as name, checksum, finished_at is not null as finished
     from _prisma_migrations
     where rolled_back_at is null
     order by finished_at`,
  );
  const expected = await expectedMigrations();
  const foreign = faultOfLedger(
    applied.map(({ name }) => name),
    expected,
  );
  if (foreign !== null) return [fail(foreign, OWN_DATABASE)];
  const findings = compareMigrations(expected, applied);
  if (known.unfinished)
    findings.push(
      fail('not all tables are distributed', 'Run "run migrate --distribute" until it is done.'),
    );
  if (!known.jobs)
    findings.push(fail('the tables of the job runner are missing', 'Run "run migrate".'));
  return orOk(findings, `all ${expected.length} of this release are applied`);
});

function compareMigrations(expected: readonly Migration[], applied: readonly Applied[]): Finding[] {
  const failed = applied.filter(({ finished }) => !finished);
  const sums = new Set(applied.map(({ name, checksum }) => `${name} ${checksum}`));
  const latest = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const pending = expected.filter(({ name, checksum }) => !sums.has(`${name} ${checksum}`));
  const changed = pending.filter(({ name }) => latest.has(name) && !isFunction(name));
  const own = new Set(expected.map(({ name }) => name));
  const newer = [...latest.keys()].filter((name) => !own.has(name) && !isFunction(name));
  return [
    ...failed.map(({ name }) =>
      fail(
        `${name} has failed`,
        'Look at the database, then record the outcome with "prisma migrate resolve".',
      ),
    ),
    ...changed.map(({ name }) =>
      fail(`${name} was changed after it was applied`, 'Restore the file of the release.'),
    ),
    ...pendingOf(pending.filter((one) => !changed.includes(one))),
    ...(newer.length > 0
      ? [
          warn(
            `a newer release has applied ${nameSome(newer)}`,
            'During an upgrade and after a rollback that is right; else run the newer release.',
          ),
        ]
      : []),
  ];
}

function pendingOf(pending: readonly Migration[]): Finding[] {
  if (pending.length === 0) return [];
  const names = nameSome(pending.map(({ name }) => name));
  return [fail(`pending: ${names}`, 'Run "run migrate" of this release.')];
}

function nameSome(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  return `${names.slice(0, 3).join(', ')}${more}`;
}

function isFunction(name: string): boolean {
  return name.startsWith('functions/');
}
