/** An address that a name resolves to. */
export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all its addresses; rejects when there are none. Tests bring their own. */
export type Lookup = (hostname: string) => Promise<readonly HostAddress[]>;
