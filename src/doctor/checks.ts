import type { Check } from './check.ts';
import { backup } from './checks/backup.ts';
import { citus } from './checks/citus.ts';
import { clock } from './checks/clock.ts';
import { configuration } from './checks/configuration.ts';
import { connections } from './checks/connections.ts';
import { databaseCertificate } from './checks/database-certificate.ts';
import { database } from './checks/database.ts';
import { disk } from './checks/disk.ts';
import { encoding } from './checks/encoding.ts';
import { extensions } from './checks/extensions.ts';
import { indexes } from './checks/indexes.ts';
import { jobPools } from './checks/jobs.ts';
import { migrations } from './checks/migrations.ts';
import { pooler } from './checks/pooler.ts';
import { preparedTransactions } from './checks/prepared.ts';
import { publicCertificate } from './checks/public-certificate.ts';
import { replication } from './checks/replication.ts';
import { role } from './checks/role.ts';
import { secret } from './checks/secret.ts';
import { replicationSlots } from './checks/slots.ts';
import { tables } from './checks/tables.ts';
import { tls } from './checks/tls.ts';
import { openTransactions } from './checks/transactions.ts';
import { vacuum } from './checks/vacuum.ts';
import { workers } from './checks/workers.ts';
import { wraparound } from './checks/wraparound.ts';

/** All checks, in the order of the report. The runbook's table has the same. */
export const CHECKS: readonly Check[] = [
  configuration,
  publicCertificate,
  database,
  databaseCertificate,
  tls,
  clock,
  encoding,
  secret,
  role,
  pooler,
  connections,
  migrations,
  extensions,
  citus,
  indexes,
  openTransactions(),
  preparedTransactions(),
  replication,
  replicationSlots(),
  wraparound,
  vacuum,
  jobPools(),
  workers,
  tables,
  disk,
  backup,
];
