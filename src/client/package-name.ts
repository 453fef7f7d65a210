/**
 * The name of the client package. The docs, the command and the build take it from here. The scope
 * must belong to whoever runs the service before anything of it is published: who owns a name of
 * npm decides what `npx` runs, and the command is given API keys.
 */
export const PACKAGE_NAME = '@team-customer-api/client';

/** The tarball of the package, as `npm pack` names it. */
export function tarballOf(version: string): string {
  return `${PACKAGE_NAME.replace('@', '').replace('/', '-')}-${version}.tgz`;
}

/** How the command is called. With `--no`, npx asks no registry: it runs what is installed. */
export const COMMAND = `npx --no ${PACKAGE_NAME}`;
