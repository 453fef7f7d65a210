// Prints the software bill of materials of this install as CycloneDX: the packages of npm in
// node_modules, Node itself, what the admin page was built from, the fonts of the developer pages,
// and Debian's packages below. The image's build writes it to /app/sbom.cdx.json. It reads what is
// installed and not package-lock.json: `npm sbom --omit dev` leaves out packages that development
// needs, too (https://github.com/npm/cli/issues/7909), and install.sh removes some packages.
import '../src/runtime/node-version.ts';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What Vite writes beside the admin page: the packages whose code is in its scripts. */
const BUNDLED = 'build/admin/licenses.json';
const DPKG_STATUS = '/var/lib/dpkg/status';
/** `src/docs/assets/geist.LICENSE.txt` says the same. */
const FONTS = ['@fontsource-variable/geist', '@fontsource-variable/geist-mono'].map((name) =>
  component({ name, version: '5.3.0', license: 'OFL-1.1', where: 'src/docs/assets' }),
);

interface Component {
  readonly type: 'library' | 'platform';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly cpe?: string;
  readonly licenses?: readonly [{ readonly expression: string }];
  readonly properties: readonly [{ readonly name: 'where'; readonly value: string }];
}

/** Returns the component of a package of npm. `where`: the folder or file that it is in. */
function component(found: {
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
  readonly where: string;
}): Component {
  const { name, version, license, where } = found;
  const purl = `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
  return {
    type: 'library',
    'bom-ref': `${purl}#${where}`,
    name,
    version,
    purl,
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    properties: [{ name: 'where', value: where }],
  };
}

function npmPackages(): Component[] {
  const files = globSync('**/node_modules/{*,@*/*}/package.json', { cwd: root });
  return files.toSorted().map((file) => {
    const { name, version, license } = readJson<{
      name: string;
      version: string;
      license?: string;
    }>(file);
    return component({ name, version, license, where: dirname(file) });
  });
}

function bundledPackages(): Component[] {
  return readJson<{ name: string; version: string; identifier?: string }[]>(BUNDLED).map(
    ({ name, version, identifier }) =>
      component({ name, version, license: identifier, where: 'build/admin' }),
  );
}

/** Node as databases of vulnerabilities know it. They do not know the package of npm. */
function node(): Component {
  const { version } = readJson<{ version: string }>('node_modules/node/package.json');
  return {
    type: 'platform',
    'bom-ref': `pkg:generic/node@${version}`,
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    licenses: [{ expression: 'MIT' }],
    properties: [{ name: 'where', value: 'node_modules/node/bin/node' }],
  };
}

/**
 * Returns the packages of Debian, without licences: those stand in /usr/share/doc. None on another
 * system.
 */
function debianPackages(): Component[] {
  if (!existsSync(DPKG_STATUS)) return [];
  const system = fieldsOf(readFileSync('/etc/os-release', 'utf8').replaceAll(/["']/g, ''), '=');
  const distro = `${system['ID']}-${system['VERSION_ID']}`;
  return readFileSync(DPKG_STATUS, 'utf8')
    .split('\n\n')
    .map((text) => fieldsOf(text, ': '))
    .filter(({ Status }) => Status === 'install ok installed')
    .map(({ Package: name = '', Version: version = '', Architecture: arch, Source: source }) => {
      // The package that it was built from: Debian tells vulnerabilities of those.
      const upstream = source?.replace(/ \((.+)\)$/, '@$1');
      const qualifiers = Object.entries({ arch, distro, upstream })
        .filter(([, value]) => value !== undefined)
        .map(([key, value = '']) => `${key}=${encodeURIComponent(value)}`);
      const purl =
        `pkg:deb/${system['ID']}/${encodeURIComponent(name)}@${encodeURIComponent(version)}` +
        `?${qualifiers.join('&')}`;
      const properties = [{ name: 'where', value: DPKG_STATUS }] as const;
      return { type: 'library', 'bom-ref': purl, name, version, purl, properties };
    });
}

/** Returns the fields of lines such as `Name: value`. Further lines of a value are left out. */
function fieldsOf(text: string, separator: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => /^\w/.test(line) && line.includes(separator));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(separator);
      return [line.slice(0, at), line.slice(at + separator.length)];
    }),
  );
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as T;
}

const { name, version } = readJson<{ name: string; version: string }>('package.json');
// No time and no serial number: the same install has the same bill.
const bill = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { type: 'application', name, version } },
  components: [node(), ...npmPackages(), ...bundledPackages(), ...FONTS, ...debianPackages()],
};
console.log(JSON.stringify(bill, null, 2));
