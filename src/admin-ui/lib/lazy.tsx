/**
 * Pages that are loaded when they are first opened, or while the browser has nothing else to do.
 * TanStack's own `lazyRouteComponent` reloads the document when a file cannot be loaded. That loses
 * everything when the reader is offline, and uses a storage that a frame may not touch.
 */
import { use, type ComponentType, type ReactNode } from 'react';

/** Counts the tries to load what could not be loaded. */
let tries = 0;
const preloads: (() => Promise<void>)[] = [];

/** Returns the component `name` of a file, which is loaded when it is needed. */
export function lazyPage<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): (() => ReactNode) & { readonly preload: () => Promise<void> } {
  let page: ComponentType | null = null;
  let failure: { readonly error: unknown; readonly at: number } | null = null;
  let loading: Promise<void> | null = null;
  const preload = (): Promise<void> =>
    (loading ??= load()
      .then(
        (file) => {
          page = file[name];
        },
        (error: unknown) => {
          failure = { error, at: tries };
        },
      )
      .finally(() => {
        loading = null;
      }));
  preloads.push(preload);
  function LazyPage() {
    if (page === null && failure?.at === tries) throw failure.error;
    if (page === null) use(preload());
    const Page = page;
    return Page && <Page />;
  }
  return Object.assign(LazyPage, { preload });
}

/** Lets pages that could not be loaded be loaded again. */
export function forgetFailures(): void {
  tries += 1;
}

/**
 * Loads all pages, one after the other: a page that is here can be opened offline, and after the
 * service was updated.
 */
export async function preloadPages(): Promise<void> {
  for (const preload of preloads) await preload();
}
