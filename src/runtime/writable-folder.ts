import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Returns the code of what keeps files out of a folder that may not exist yet; null: nothing. */
export function whyNotWritable(folder: string): string | null {
  const path = resolve(folder);
  try {
    if (!statSync(path).isDirectory()) return 'ENOTDIR';
    accessSync(path, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    // It is made when the first file is.
    const mayBeMade = code === 'ENOENT' && dirname(path) !== path;
    return mayBeMade ? whyNotWritable(dirname(path)) : (code ?? String(error));
  }
}
