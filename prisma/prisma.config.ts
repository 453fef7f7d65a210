import { defineConfig } from 'prisma/config';

// `prisma generate` asks for the native schema engine and would download it, but never runs it. Naming any existing
// program keeps `npm ci` free of that download, and so working without the internet.
if (process.argv.includes('generate'))
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

/** Paths in this file count from the folder it is in. */
export default defineConfig({ schema: 'schema.prisma', migrations: { path: 'migrations' } });
