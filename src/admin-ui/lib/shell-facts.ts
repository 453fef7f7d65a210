import type { Mode } from '../../core/sandbox.ts';

/** What the document says of itself: see `shell.ts`. */
export interface ShellFacts {
  readonly mode: Mode;
  readonly adminPath: string;
  readonly servicePath: string;
  readonly hasDevelopmentLogin: boolean;
  readonly hostOrigins: readonly string[];
  readonly refreshUrls: readonly string[];
}

/** Reads it from the contents of the document's meta elements; empty: it has none of this name. */
export function readShellFacts(contentOf: (name: string) => string): ShellFacts {
  const adminPath = contentOf('base');
  const listOf = (name: string): string[] => contentOf(name).split(' ').filter(Boolean);
  return {
    mode: contentOf('mode') === 'test' ? 'test' : 'live',
    adminPath,
    servicePath: adminPath.replace(/\/admin$/, ''),
    hasDevelopmentLogin: contentOf('development-login') === 'yes',
    hostOrigins: listOf('host-origins'),
    refreshUrls: listOf('refresh-urls'),
  };
}
