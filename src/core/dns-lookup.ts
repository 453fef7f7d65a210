/** An IP address that a host name resolves to. */
export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/**
 * Resolves a host name to all its addresses. Rejects if there are none: with the code `ENOTFOUND`
 * or `ENODATA` if the DNS says so, with any other error if it could not be asked. Tests pass their
 * own.
 */
export type Lookup = (hostname: string) => Promise<readonly HostAddress[]>;
