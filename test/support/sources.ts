import { fileURLToPath } from 'node:url';

/** The folder of the sources. */
export const SOURCES = fileURLToPath(new URL('../..', import.meta.url));
