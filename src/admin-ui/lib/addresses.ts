/** The addresses of the live team and of its sandbox: see `mode.ts`. */
import type { Mode } from '../../core/sandbox.ts';
import { MODE_PATHS } from './navigation.ts';

/** What all addresses of a mode begin with. `adminPath`: such as `/admin`. */
export function basePathOf(adminPath: string, mode: Mode): string {
  return adminPath + MODE_PATHS[mode];
}

/** The headers by which a call says which team it means. */
export function headersOf(mode: Mode): Readonly<Record<string, string>> {
  return mode === 'test' ? { 'svc-mode': 'test' } : {};
}

/** The header by which a call says whose data stand on the page. A header has few characters. */
export function teamHeadersOf(teamId: string): Readonly<Record<string, string>> {
  return { 'svc-team': encodeURIComponent(teamId) };
}

/** The address of the same page as `path`, without ids: they are unknown in another mode. */
export function placeOf(adminPath: string, mode: Mode, path: string): string {
  const [, section = ''] = path.split('/');
  return `${basePathOf(adminPath, mode)}/${section}`;
}

/** The mode of a path that follows `/admin`. */
export function modeOfPath(path: string): Mode {
  const { test } = MODE_PATHS;
  return path.startsWith(test) && /^(?:[/?#]|$)/.test(path.slice(test.length)) ? 'test' : 'live';
}
