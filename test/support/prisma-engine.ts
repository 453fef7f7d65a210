// Prisma's own migration engine (WebAssembly, development only), as the reference for our runner.
// It splits scripts at semicolons, so its migrations must not contain functions.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg';
import { openSturdyPool } from './pool.ts';

export { engine };

/** Applies migrations as `prisma migrate deploy` does. Resolves with the names that it applied. */
export async function applyWithPrisma(
  databaseUrl: string,
  migrations: ReadonlyArray<{ name: string; sql: string }>,
): Promise<string[]> {
  // Our own pool, so that we can end the session that holds the engine's advisory lock.
  const pool = openSturdyPool(databaseUrl, 10);
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool));
  const schemaEngine = await engine.SchemaEngine.new(
    { datamodels: undefined },
    () => undefined,
    adapter,
  );
  try {
    const output = await schemaEngine.applyMigrations({
      migrationsList: {
        baseDir: '/migrations',
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
        shadowDbInitScript: '',
        migrationDirectories: migrations.map(({ name, sql }) => ({
          path: name,
          migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
        })),
      },
      filters: { externalTables: [], externalEnums: [] },
    });
    return output.appliedMigrationNames;
  } finally {
    schemaEngine.free();
    await pool.end();
  }
}

/** The part of WebAssembly that we use. TypeScript only has its types in the browser's library. */
interface WebAssemblyLoader {
  instantiate(
    code: Uint8Array,
    imports: object,
  ): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
}

// Once per process, because a second instance would get the callbacks of the first.
await loadEngine();

async function loadEngine(): Promise<void> {
  const script = fileURLToPath(import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg'));
  const code = await readFile(script.replace(/\.js$/, '.wasm'));
  const { WebAssembly: loader } = globalThis as unknown as { WebAssembly: WebAssemblyLoader };
  // The engine writes the message of a panic here.
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => console.error(message) },
  });
  const { instance } = await loader.instantiate(code, { './schema_engine_bg.js': { ...engine } });
  const { __wbg_set_wasm: setWasm } = engine as unknown as {
    __wbg_set_wasm: (exports: object) => void;
  };
  setWasm(instance.exports);
  instance.exports.__wbindgen_start();
}
