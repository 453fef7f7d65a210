// The programs that `npm test` starts most, each with its modules in a few files. To load some
// 1,300 modules takes 0.9 of the 1.1 s of processor time that such a program needs before it does
// anything; as a bundle 0.2 s. The heavy suites, and `npm test -- FILE`, start the sources.
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = [
  ...['api', 'worker', 'jobs'].map((name) => `src/${name}.ts`),
  ...['announce', 'doctor', 'migrate', 'operator', 'rotate-secret', 'seed', 'trace'].map(
    (name) => `scripts/${name}.ts`,
  ),
];

/** The program to start for each source. */
type Programs = Readonly<Record<string, string>>;

/** Makes the bundles in a folder of the run, which is new. */
export async function bundlePrograms(folder: string): Promise<Programs> {
  const { build } = await import('vite');
  const programs = Object.fromEntries(
    SOURCES.map((source) => [source, join(folder, `${basename(source, '.ts')}.js`)]),
  );
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  // The pages of the documentation have a script of a package.
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await build({
    configFile: false,
    envDir: false,
    root,
    logLevel: 'error',
    plugins: [keepPlaces(programs)],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      target: 'node24',
      // pg tries to load what nobody has installed.
      rolldownOptions: { input: SOURCES, external: ['pg-native'] },
    },
  });
  return programs;
}

/** A module finds its files where its source is; a thread is a program, too. */
const keepPlaces = (programs: Programs): Plugin => ({
  name: 'keep-places',
  // It looks for what our sources say.
  enforce: 'pre',
  transform(code, id) {
    if (!code.includes('import.meta.')) return null;
    const replaced = Object.entries(programs)
      .reduce(
        (text, [source, program]) =>
          text.replaceAll(
            `new URL('./${basename(source)}', import.meta.url)`,
            `new URL(${JSON.stringify(pathToFileURL(program))})`,
          ),
        code,
      )
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id)))
      .replaceAll('import.meta.dirname', JSON.stringify(join(id, '..')))
      .replaceAll('import.meta.filename', JSON.stringify(id));
    return { code: replaced, map: null };
  },
});
