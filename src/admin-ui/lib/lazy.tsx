/**
 * Pages that are loaded when they are first opened, or while the browser has nothing else to do.
 * TanStack's own `lazyRouteComponent` reloads the document when a file cannot be loaded. That loses
 * everything when the reader is offline, and uses a storage that a frame may not touch.
 */
import { use, type ComponentType, type ReactNode } from 'react';

const preloads: (() => Promise<void>)[] = [];

/** Returns the component `name` of a file, which is loaded when it is needed. */
export function lazyPage<Name extends string, Props extends object = object>(
  load: () => Promise<Readonly<Record<Name, ComponentType<NoInfer<Props>>>>>,
  name: Name,
): ((props: Props) => ReactNode) & { readonly preload: () => Promise<void> } {
  let page: ComponentType<Props> | null = null;
  let failure: { readonly error: unknown } | null = null;
  let loading: Promise<void> | null = null;
  const preload = (): Promise<void> =>
    (loading ??= load().then(
      (file) => {
        page = file[name];
      },
      // The browser answers the same if it is asked again.
      (error: unknown) => {
        failure = { error };
      },
    ));
  preloads.push(preload);
  function LazyPage(props: Props) {
    if (failure) throw failure.error;
    if (page === null) use(preload());
    const Page = page;
    return Page && <Page {...props} />;
  }
  return Object.assign(LazyPage, { preload });
}

/**
 * Loads all pages, one after the other: a page that is here can be opened offline, and after the
 * service was updated.
 */
export async function preloadPages(): Promise<void> {
  for (const preload of preloads) await preload();
}
