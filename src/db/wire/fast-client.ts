import { standbyError } from '../errors.ts';
import { PrimaryClient, type PrimaryConfig } from './primary-client.ts';
import { parseRowsAtOnce } from './row-parser.ts';
import { partsOf } from './undocumented.ts';

/**
 * A connection to the primary that reads rows at once, and that breaks when its node becomes a
 * standby.
 *
 * Postgres reports `in_hot_standby` with the login, and whenever it changes, so recognizing a
 * primary costs no round trip. A pooler reports nothing, or an old value: unless the report is
 * "off", `connect` asks.
 */
export class FastClient extends PrimaryClient {
  #inHotStandby = '';

  constructor(config: PrimaryConfig = {}) {
    super(config);
    const { connection } = partsOf(this);
    parseRowsAtOnce(connection);
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName !== 'in_hot_standby') return;
      this.#inHotStandby = parameterValue;
      if (this.hasConnected && parameterValue === 'on') this.break(standbyError());
    });
  }

  protected override isKnownPrimary(): boolean {
    return this.#inHotStandby === 'off';
  }
}
