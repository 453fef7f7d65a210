/** The table "Imports" of ARCHITECTURE.md: which file may import which. imports.ts checks it. */

/**
 * Where a file is. A room is a folder in src, src/db, src/delivery, src/http, src/http/api or
 * src/features. The files directly in src are the room `entry`, those directly in one of the others
 * are a room with its name, for instance `http/api`.
 */
export interface Place {
  /** For a file of a feature: `features`. */
  readonly room: string;
  readonly feature: string | null;
  readonly folder: string;
  readonly role: Role;
}

/** A file's role by the end of its name: `platform-service.ts` is a service. */
export const ROLES = [
  'schema',
  'rules',
  'view',
  'store',
  'service',
  'router',
  'tasks',
  'jobs',
] as const;

/** `provider`: a file in a folder `providers`. `part`: any other file. */
export type Role = (typeof ROLES)[number] | 'provider' | 'part';

/** What a file may import. */
export interface Rule {
  readonly room: string;
  /** Without a role, everything but stores. */
  readonly role?: Role;
  /** `own` and `other` compare the features; any other text names one. */
  readonly feature?: string;
  /** Only `import type`. */
  readonly only?: 'types';
}

const own = (...roles: Role[]): Rule[] =>
  roles.map((role) => ({ room: 'features', role, feature: 'own' }));
const typesOf = (rules: readonly Rule[]): Rule[] =>
  rules.map((rule) => ({ ...rule, only: 'types' }));
const core: Rule = { room: 'core' };
/** What features and the loop use of the database. The rooms behind it are `db/NAME`. */
const db: Rule = { room: 'db' };
const behindDb = (...names: string[]): Rule[] => names.map((name) => ({ room: `db/${name}` }));
const trpc: Rule = { room: 'trpc' };
const delivery: Rule = { room: 'delivery' };
const routers: Rule = { room: 'routers' };
const pipeline: Rule = { room: 'http/api' };
const authentication: Rule = { room: 'http/api/authentication' };

/**
 * What each room may import beside itself; for features, what each role may import beside the same
 * role of the same feature. A store is imported from its own folder only, even within a room,
 * unless a row names it.
 */
export const TABLE: Readonly<Record<string, readonly Rule[] | 'everything'>> = {
  core: [],
  db: [core],
  'db/wire': [core, db],
  'db/citus': [core, db],
  'db/connections': [core, db, ...behindDb('wire', 'citus')],
  'db/jobs': [core, db, ...behindDb('wire', 'citus', 'connections')],
  'db/operator': [core, db, ...behindDb('wire', 'citus', 'connections')],
  'embedded-postgres': [],
  trpc: [core, ...typesOf([db])],
  delivery: [core, db, ...behindDb('connections')],
  'delivery/citus': [
    core,
    db,
    ...behindDb('citus', 'connections'),
    delivery,
    { room: 'delivery', role: 'store' },
  ],

  provider: [core],
  jobs: [],
  rules: [core],
  schema: [core, ...own('rules', 'provider')],
  view: [core, ...own('schema'), ...typesOf(own('store'))],
  store: [core, db, ...own('rules', 'jobs'), ...typesOf([...own('part', 'provider'), delivery])],
  part: [core, db, ...own('rules', 'jobs', 'store', 'provider')],
  service: [
    core,
    db,
    delivery,
    ...own('schema', 'rules', 'view', 'jobs', 'store', 'part', 'provider'),
    { room: 'features', role: 'service', feature: 'other' },
  ],
  router: [core, trpc, ...own('schema', 'view', 'service')],
  tasks: [core, db, ...own('jobs', 'view', 'service', 'part')],

  routers: [trpc, { room: 'features', role: 'router' }],
  runtime: [
    core,
    db,
    ...behindDb('wire', 'citus', 'connections', 'jobs', 'operator'),
    { room: 'features', role: 'rules' },
    ...typesOf([delivery, { room: 'delivery', role: 'store' }]),
  ],
  doctor: [
    core,
    db,
    ...behindDb('wire', 'citus', 'connections', 'jobs', 'operator'),
    { room: 'runtime' },
    { room: 'delivery', role: 'store' },
    { room: 'features', role: 'rules' },
  ],
  'http/api/authentication': [core, db, ...typesOf([trpc, ...behindDb('connections')])],
  'http/api': [core, db, trpc, routers, authentication, ...typesOf(behindDb('connections'))],
  'http/app': [
    core,
    db,
    routers,
    pipeline,
    authentication,
    ...typesOf([trpc, ...behindDb('connections')]),
  ],
  'http/openapi': [core, routers, pipeline],
  docs: [core, pipeline, { room: 'http/openapi' }, { room: 'client' }],
  http: [core, pipeline, { room: 'http/app' }, { room: 'docs' }, ...typesOf([{ room: 'runtime' }])],
  'admin-ui': typesOf([
    core,
    db,
    trpc,
    routers,
    ...(['schema', 'view', 'router'] as const).map((role) => ({ room: 'features', role })),
  ]),
  client: [],
  seed: [
    core,
    db,
    ...behindDb('wire'),
    { room: 'features', role: 'rules' },
    { room: 'features', role: 'provider' },
    { room: 'features', role: 'store', feature: 'analytics' },
  ],
  trace: [
    core,
    db,
    { room: 'delivery', role: 'store' },
    { room: 'features', role: 'rules' },
    { room: 'features', role: 'jobs' },
  ],
  entry: 'everything',
};
