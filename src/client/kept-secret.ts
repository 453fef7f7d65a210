/**
 * The secret that the command signs with. It is kept between starts, so that a receiver is set up
 * once: in a file that only its user may read.
 */
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { ApiError } from './ask.ts';

export interface KeptSecret {
  readonly secret: string;
  /** What the reader should know, for instance that it could not be stored; null if nothing. */
  readonly note: string | null;
}

/** Where the secret is, by the conventions of the system. */
export function secretFile(
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): string {
  const home = env['HOME'] ?? homedir();
  const windows = platform === 'win32' ? env['APPDATA'] : undefined;
  const folder = env['XDG_CONFIG_HOME'] || windows || join(home, '.config');
  return join(folder, 'team-customer-api', 'webhook-secret');
}

/**
 * Returns the kept secret, or makes one and keeps it. Of two starts at once, both get the same one.
 * Throws an {@link ApiError} if the file holds something else.
 */
export async function keepSecret(file: string): Promise<KeptSecret> {
  const secret = makeSecret();
  try {
    return { secret: (await readSecret(file)) ?? (await store(file, secret)), note: null };
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const why = (error as { readonly code?: string }).code ?? String(error);
    return { secret, note: `The secret cannot be kept in ${file} (${why}): the next is another.` };
  }
}

/** Makes a secret in the form of the service's. */
export function makeSecret(): string {
  for (;;) {
    const text = randomBytes(33).toString('base64');
    if (!/[+/]/.test(text)) return `whsec_${text}`;
  }
}

/** Returns the secret that is in the file afterwards. */
async function store(file: string, secret: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // A file appears whole or not at all, and the first one stays: `link` replaces none.
  const written = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(written, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(written, file);
    return secret;
  } catch (error) {
    if ((error as { readonly code?: string }).code !== 'EEXIST') throw error;
    return (await readSecret(file)) ?? secret;
  } finally {
    await rm(written, { force: true });
  }
}

/** null: there is no file. */
async function readSecret(file: string): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as { readonly code?: string }).code === 'ENOENT') return null;
    throw error;
  }
  const secret = text.trim();
  if (!/^whsec_\S+$/.test(secret))
    throw new ApiError(`${file} holds no secret. Remove it to get a new one, or give --secret.`);
  // It may have been copied from a backup that knows no modes.
  await chmod(file, 0o600).catch(() => undefined);
  return secret;
}
