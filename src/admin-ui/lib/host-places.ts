/** Where people sign in: see `hosts.ts`. */

/** Where the reader signs in and comes back to this place. */
export interface PlaceOfSignIn {
  readonly href: string;
  readonly origin: string;
}

/** Whether a host application has this origin. `urls`: where they sign people in. */
export function isHostOrigin(urls: readonly string[], origin: string): boolean {
  return urls.some((url) => new URL(url).origin === origin);
}

/** Where the reader came from; every host application, if that is not known. */
export function placesFor(
  urls: readonly string[],
  { back, cameFrom }: { readonly back: string; readonly cameFrom: string | null },
): readonly PlaceOfSignIn[] {
  const places = urls.map((text) => {
    const url = new URL(text);
    url.searchParams.set('return', back);
    return { href: url.href, origin: url.origin };
  });
  const known = places.filter(({ origin }) => origin === cameFrom);
  return known.length > 0 ? known : places;
}

/**
 * Where the reader is led when the page opens and nobody is signed in: to the one host application
 * there is, unless they come from there. null: the page offers what there is.
 */
export function placeToGo(
  places: readonly PlaceOfSignIn[],
  cameFromHost: boolean,
): PlaceOfSignIn | null {
  const [place, other] = places;
  return place && !other && !cameFromHost ? place : null;
}
