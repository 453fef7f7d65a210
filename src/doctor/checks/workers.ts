import { FIND_DEAD, IS_WORKER_LOCK } from '../../delivery/claim-store.ts';
import { checkOfDatabase, fail, ok, unknown, warn } from '../check.ts';

/** Workers by their locks: how many live, and which dead ones have claims. */
export const workers = checkOfDatabase('workers', 'WorkersGone', async (ask) => {
  const [row] = await ask<{ there: boolean; living: number }>(
    `select to_regclass('webhook_delivery') is not null as there,
       (select count(*)::int from pg_locks where ${IS_WORKER_LOCK}) as living`,
  );
  const { there = false, living = 0 } = row ?? {};
  const isCitus = await ask.isCitus();
  if (!there) return [unknown('there are no tables yet')];
  const start = 'Start a worker: any one takes over what the dead ones had claimed.';
  if (isCitus && living > 0)
    return [ok(`${living} live; on Citus each shard is looked at by them`)];
  const dead = isCitus ? [] : await ask<{ worker: number }>(FIND_DEAD.text);
  if (living === 0 && dead.length > 0)
    return [fail(`none lives, and ${dead.length} dead ones have claims on deliveries`, start)];
  if (living === 0) return [warn('none lives: there are no webhooks, mails and removals', start)];
  if (dead.length === 0) return [ok(`${living} live, and no dead one has a claim`)];
  return [
    warn(
      `${living} live, and ${dead.length} dead ones have claims on deliveries`,
      'Run the doctor again in ten seconds: the living ones take them over.',
    ),
  ];
});
