/** The n-th shard of each table of the delivery loop. */
export interface Shard {
  /** Of the shard of `webhook_delivery`. A move keeps it, a split makes others. */
  readonly id: string;
  /** Where its rows are. */
  readonly node: { readonly host: string; readonly port: number };
  /** Table → its name in this shard. */
  readonly tables: Readonly<Record<string, string>>;
}
