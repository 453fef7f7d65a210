/**
 * Secrets from files, as containers and systemd's credentials give them: `APP_SECRET_FILE` names a
 * file with the value of `APP_SECRET`. A variable of the environment is inherited by every child
 * and shown by `docker inspect`; a file is neither.
 */
import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SecretFiles {
  /** The environment, with the values of the files in place of their names. */
  readonly env: Environment;
  /** The settings whose value is that of a file. */
  readonly fromFile: ReadonlySet<string>;
  /** By setting, the fault of its file. Never its content, nor its path: that may be the secret. */
  readonly faults: Readonly<Record<string, string>>;
}

/** Returns the name of the variable that names the file of a setting. */
export function fileNameOf(setting: string): string {
  return `${setting}_FILE`;
}

/** Reads the files of these settings. A variable that is empty counts as not set. */
export function readSecretFiles(given: Environment, settings: readonly string[]): SecretFiles {
  const env: Record<string, string | undefined> = { ...given };
  const fromFile = new Set<string>();
  const faults: Record<string, string> = {};
  for (const setting of settings) {
    const variable = fileNameOf(setting);
    const path = given[variable]?.trim();
    delete env[variable];
    if (!path) continue;
    if (given[setting]?.trim()) {
      faults[setting] = `${setting} must not be set together with ${variable}`;
      continue;
    }
    try {
      env[setting] = readSecret(path);
      fromFile.add(setting);
    } catch (error) {
      faults[setting] = `${variable} names a file ${reasonOf(error)}`;
    }
  }
  return { env, fromFile, faults };
}

/** Without the newline at the end, which editors and `echo` add. */
function readSecret(path: string): string {
  const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  if (text.trim() === '') throw new Error('the file is empty');
  return text;
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  return code === null ? 'that is empty' : `that cannot be read (${code})`;
}
