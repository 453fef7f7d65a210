import { Fragment } from 'react';

/** The parts of an address, a host or an id, each with the signs after which it may break. */
const PARTS = /[^._@/:-]+[._@/:-]*|[._@/:-]+/g;

/** A text without spaces, such as an address. It breaks between its parts before it breaks one. */
export function Wrappable({ text }: { readonly text: string }) {
  return (text.match(PARTS) ?? []).map((part, place) => (
    <Fragment key={place}>
      {place > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
