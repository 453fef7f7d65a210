// What breaks in a night, and who tells of it. Only types are imported: `scripts/night.ts` reads
// the answers without a site.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Site, Team } from './site.ts';

/** What the operator on call can see of a fault; each of these must be so. */
export interface Signs {
  /** An alert that fires. */
  readonly alert?: string;
  /** What the doctor prints. */
  readonly doctor?: RegExp;
  /** What `trace` prints of the request in the complaint, or of the team without one. */
  readonly trace?: RegExp;
  /** The statement of the runbook and a column of its answer that names it. */
  readonly sql?: readonly [string, RegExp];
  /** What a process logs. */
  readonly log?: readonly [string, RegExp];
  /** What `trace` prints of the public part of a key in that log. */
  readonly key?: RegExp;
}

export interface Fault {
  /** What an answer must say. */
  readonly answer: string;
  /** The pages of the runbook that lead there. */
  readonly pages: readonly string[];
  readonly signs: Signs;
  /** Resolves with what a customer or a colleague says; null: nobody does. */
  readonly breakIt: (site: Site) => Promise<string | null>;
}

/**
 * Asks until the answer is as wanted, because processes know some things for seconds. `before` each
 * time something is done that does no harm twice.
 */
async function askUntil(
  { ask }: Site,
  [team, method, path, body]: [Team, string, string, unknown?],
  isWanted: (answer: Answer) => boolean,
  before: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Answer> {
  for (;;) {
    await before();
    const answer = await ask(team, method, path, body);
    if (isWanted(answer)) return answer;
    await delay(200);
  }
}

/** What customers say whose webhooks do not come. */
async function missWebhooks(site: Site, team: Team): Promise<string> {
  const body = { title: 'Practise', situation_id: 'sit_cold' };
  const { requestId } = await askUntil(
    site,
    [team, 'POST', '/assignments', { ...body, ...COMPLETE, member_id: `mem_${team}_member` }],
    ({ status }) => status === 201,
  );
  return `${team} (team_${team}): "We get no webhooks, for instance of the request ${requestId}."`;
}

const COMPLETE = { personality_id: 'per_calm', industry_id: 'ind_saas' };

const CALLS = 'A customer says that calls fail';
const WEBHOOKS = 'A customer says that webhooks are late';

/** By a name that only this folder uses. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  pooler_frozen: {
    answer: 'What stands in front of Postgres accepts connections and answers nothing.',
    pages: ['ApiNotReady', 'ApiUnavailable', 'Doctor'],
    signs: { alert: 'ApiNotReady', doctor: /fail +database\b/ },
    breakIt: async ({ pooler }) => {
      pooler.fallSilent();
      return null;
    },
  },
  database_read_only: {
    answer: 'The database was made read-only (default_transaction_read_only).',
    pages: ['ApiNotReady', 'ApiUnavailable', 'Doctor'],
    signs: { alert: 'ApiNotReady', doctor: /fail +database\b[^]*read.only/i },
    breakIt: async ({ pool }) => {
      const { rows } = await pool.query<{ name: string }>('select current_database() as name');
      await pool.query(`alter database ${rows[0]?.name} set default_transaction_read_only = on`);
      await pool.query(
        `select pg_terminate_backend(pid)
         from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      return null;
    },
  },
  table_locked: {
    answer: 'Somebody with psql has locked the table assignment and has not committed.',
    pages: ['ApiUnavailable', 'BalancerFaults'],
    signs: { alert: 'ApiUnavailable', sql: ['age desc', /psql|lock table assignment/] },
    breakIt: async ({ openSession }) => {
      await (await openSession()).query('begin; lock table assignment');
      return null;
    },
  },
  table_renamed: {
    answer: 'The table training was renamed: requests that need it get 500.',
    pages: ['ApiFaults'],
    signs: { alert: 'ApiFaults', log: ['api1', /relation .*training.* does not exist/] },
    breakIt: async ({ pool }) => {
      await pool.query('alter table training rename to training_2');
      return null;
    },
  },
  index_invalid: {
    answer: 'The index webhook_delivery_list_idx is invalid, as after an interrupted REINDEX.',
    pages: ['Doctor'],
    signs: { doctor: /fail +indexes\b/ },
    breakIt: async ({ pool }) => {
      await pool.query(
        `update pg_index
         set indisvalid = false
         where indexrelid = 'webhook_delivery_list_idx'::regclass`,
      );
      return 'A colleague: "I stopped my maintenance of the database. Is all as it should be?"';
    },
  },
  worker_killed: {
    answer: 'The worker was killed (kill -9) and nobody has started it again.',
    pages: ['WorkersGone'],
    signs: { alert: 'WorkersGone', doctor: /(?:warn|fail) +workers +none lives/ },
    breakIt: async ({ processOf }) => {
      await processOf('worker1').kill('SIGKILL');
      return null;
    },
  },
  worker_frozen: {
    answer: 'The worker is stopped (state T, SIGSTOP): it exists and does nothing.',
    pages: ['WorkersGone'],
    signs: { alert: 'WorkersGone' },
    breakIt: async ({ processOf }) => {
      process.kill(processOf('worker1').pid, 'SIGSTOP');
      return null;
    },
  },
  api_killed: {
    answer: 'api1 was killed (kill -9) and nobody has started it again.',
    pages: ['ApiProcessDown'],
    signs: { alert: 'ApiProcessDown' },
    breakIt: async ({ processOf }) => {
      await processOf('api1').kill('SIGKILL');
      return null;
    },
  },
  wrong_secret: {
    answer: 'api2 was started again with another APP_SECRET than that of the database, and ended.',
    pages: ['ApiProcessDown'],
    signs: { alert: 'ApiProcessDown', log: ['api2', /APP_SECRET/] },
    breakIt: async ({ restart }) => {
      await restart('api2', { APP_SECRET: 'the secret of another installation, by mistake' });
      return null;
    },
  },
  balancer_gone: {
    answer: 'HAProxy has ended: customers cannot connect, and the APIs are well.',
    pages: ['BalancerGone'],
    signs: { alert: 'BalancerGone' },
    breakIt: async ({ balancer }) => {
      await balancer.stop();
      return null;
    },
  },
  mail_silent: {
    answer: 'The mail server accepts connections and says nothing.',
    pages: ['JobsOld'],
    signs: { alert: 'JobsOld' },
    breakIt: async ({ mailRoute, pool }) => {
      mailRoute.fallSilent();
      // The alert wants two minutes of waiting, which the night does not have.
      const waiting = `locked_at is null and run_at between now() - interval '2 minutes' and now()`;
      const age = `update graphile_worker._private_jobs
        set run_at = run_at - interval '3 minutes'
        where task_id in (select id from graphile_worker._private_tasks
          where identifier = 'send_invitation_mail') and ${waiting}`;
      for (let second = 0; second < 30; second += 1) {
        await pool.query(age);
        await delay(1_000);
      }
      return null;
    },
  },
  receiver_hangs: {
    answer: "acme's own receiver accepts webhooks and does not answer: it is the customer's fault.",
    pages: [WEBHOOKS],
    signs: { trace: /in_hand: worker: \d+|error: timeout/ },
    breakIt: async (site) => {
      site.receiver.on('/acme', () => undefined);
      return missWebhooks(site, 'acme');
    },
  },
  receiver_refuses: {
    answer: "blitz's own receiver answers 401 to each webhook.",
    pages: [WEBHOOKS],
    signs: { trace: /response_code: 401/ },
    breakIt: async (site) => {
      site.receiver.on('/blitz', (response) => response.writeHead(401).end());
      return missWebhooks(site, 'blitz');
    },
  },
  endpoint_disabled: {
    answer: 'Somebody of corvo disabled its webhook endpoint, by its API key.',
    pages: [WEBHOOKS],
    signs: { trace: /whe_corvo \(disabled now\)[^]*actor_kind: api_key/ },
    breakIt: async (site) => {
      await site.ask('corvo', 'PATCH', '/webhook-endpoints/whe_corvo', { status: 'disabled' });
      return missWebhooks(site, 'corvo');
    },
  },
  endpoint_locked: {
    answer: "Somebody with psql has locked acme's webhook endpoint and has not committed.",
    pages: [WEBHOOKS],
    signs: { trace: /Webhook endpoint[^]*The session \d+ \(psql\) has locked it/ },
    breakIt: async (site) => {
      const session = await site.openSession();
      await session.query(
        `begin; select from webhook_endpoint where team_id = 'team_acme' for update`,
      );
      return missWebhooks(site, 'acme');
    },
  },
  team_suspended: {
    answer: 'team_blitz was suspended, by the operator kim.',
    pages: [CALLS],
    signs: { trace: /error_code: api_disabled[^]*status: suspended/ },
    breakIt: async (site) => {
      await site.operate('team', 'suspend', 'team_blitz', '--as', 'kim');
      const { requestId } = await askUntil(
        site,
        ['blitz', 'GET', '/me'],
        ({ status }) => status === 403,
      );
      return `blitz (team_blitz): "Your API is down, for instance the request ${requestId}."`;
    },
  },
  key_revoked: {
    answer: 'An owner of corvo revoked the key that its integration uses.',
    pages: [CALLS],
    signs: {
      log: ['api1', /"status":401[^}]*"refusal":"revoked"/],
      key: /team_corvo[^]*api_key\.revoked[^]*mem_corvo_owner/,
    },
    breakIt: async (site) => {
      const { rows } = await site.pool.query<{ id: string }>(
        `select id from api_key where team_id = 'team_corvo' and name = 'full'`,
      );
      const { admin } = await site.app('corvo');
      const key_id = rows[0]?.id ?? '';
      const { requestId } = await askUntil(
        site,
        ['corvo', 'GET', '/me'],
        ({ status }) => status === 401,
        () => admin.apiKeys.revoke.mutate({ key_id }).catch(() => null),
      );
      return `corvo (team_corvo): "Your API is down, for instance the request ${requestId}."`;
    },
  },
  key_limited: {
    answer: "acme is over its team's rate limit, which is now 20 requests a minute.",
    pages: [CALLS, 'ManyRequestsRateLimited'],
    signs: {
      trace: /limited_by: team_rate/,
      sql: ['rate_limit_per_min', /"rate_limit_per_min":20\b/],
    },
    breakIt: async (site) => {
      await site.operate('team', 'update', 'team_acme', '--rate-limit-per-min', '20');
      const { requestId } = await askUntil(
        site,
        ['acme', 'GET', '/me'],
        ({ status }) => status === 429,
      );
      return `acme (team_acme): "Your API is down, for instance the request ${requestId}."`;
    },
  },
  crm_refuses: {
    answer: "corvo's CRM refuses its credentials, so its deals are not synchronized.",
    pages: [CALLS],
    signs: {
      trace: /CRM connection[^]*last_error: unauthorized/,
      log: ['worker1', /"code":"unauthorized"[^}]*"a synchronization failed"/],
    },
    breakIt: async ({ crm, pool }) => {
      crm.token = 'another token';
      await pool.query(`update crm_connection set next_sync_at = now()`);
      return 'corvo (team_corvo): "Deals of our CRM are those of yesterday."';
    },
  },
};

/** The name of the fault of this round. Rounds of one seed have different ones. */
export function chooseFault(seed: string, round: number): string {
  const rank = (name: string): string =>
    createHash('sha256').update(`${seed}:${name}`).digest('hex');
  const names = Object.keys(FAULTS).toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  return names[(round - 1) % names.length] ?? '';
}
