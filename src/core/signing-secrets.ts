/** A signing secret that a rotation has replaced. It stays valid until then. */
export interface EarlierSecret {
  readonly secret: string;
  /** ISO, UTC. */
  readonly until: string;
}

/** Returns the text in which the earlier secrets of a webhook endpoint are kept, encrypted. */
export function earlierSecretsText(secrets: readonly EarlierSecret[]): string {
  return JSON.stringify(secrets);
}

/** Reads the text of `earlierSecretsText`. */
export function readEarlierSecrets(text: string): readonly EarlierSecret[] {
  return JSON.parse(text) as readonly EarlierSecret[];
}

/** Returns those that are valid at `at`. */
export function stillValid<Secret extends Pick<EarlierSecret, 'until'>>(
  secrets: readonly Secret[],
  at: Date,
): readonly Secret[] {
  return secrets.filter(({ until }) => Date.parse(until) > at.getTime());
}
