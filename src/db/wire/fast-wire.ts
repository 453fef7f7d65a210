import pg from 'pg';
import { cancelStatement } from './cancel.ts';
import { FastClient } from './fast-client.ts';
import { describeAlways, PreparedQuery, WireQuery } from './prepared-query.ts';
import { isPooled } from './pooled.ts';
import { poolToPrimary } from './primary-client.ts';
import { sendGroup } from './query-group.ts';
import { partsOf } from './undocumented.ts';
import { isLostStatement, type Outgoing, type Wire } from './wire.ts';

/** Sends in pipeline mode, and reaches into pg for what that alone does not give. */
export const fastWire: Wire = {
  openPool: ({ url, config, onLostStatement }) => {
    const pool = new pg.Pool({ ...poolToPrimary(url, FastClient), ...config, pipeline: true });
    pool.on('connect', (client) =>
      partsOf(client).connection.on('errorMessage', (error) => {
        if (isLostStatement(error)) onLostStatement();
      }),
    );
    return pool;
  },
  welcome: (client, { pid }) => {
    const pooled = isPooled(client, pid);
    if (pooled) describeAlways(client);
    return pooled;
  },
  prepare: (what, values, onEnd, isRead) => new PreparedQuery(what, values, onEnd, isRead),
  fromConfig: (config, onEnd) => new WireQuery(config, config.values ?? [], onEnd),
  send: (client, queries) => sendGroup(client, own(queries)),
  // Outside a transaction the group is one.
  sendAlone: (client, limits, query) => sendGroup(client, own([...limits, query])),
  cancel: cancelStatement,
};

/** They are all made above. */
function own(queries: readonly Outgoing[]): readonly WireQuery[] {
  return queries as readonly WireQuery[];
}
