import { standbyError } from '../errors.ts';
import { PrimaryClient, type PrimaryConfig } from './primary-client.ts';
import { parseRowsAtOnce } from './row-parser.ts';
import { partsOf } from './undocumented.ts';

/**
 * A connection to the primary that reads rows at once, and that breaks when its node becomes a
 * standby.
 *
 * Postgres reports `in_hot_standby` with the login, and whenever it changes, so a connection to a
 * primary costs no round trip more. Poolers report nothing, or what one of their connections was
 * told long ago: whoever is not told "off" asks.
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
