import { defineConfig } from 'prisma/config';

// `prisma generate` would download the native schema engine, but never runs it. The path of any
// existing program prevents the download, so that `npm ci` works without the internet.
if (process.argv.includes('generate'))
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

/** The paths are relative to the folder of this file. */
export default defineConfig({ schema: 'schema.prisma', migrations: { path: 'migrations' } });
