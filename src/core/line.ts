/**
 * Members in the order in which they came. They may leave from anywhere, at no cost.
 *
 * For what comes and goes with every request, a Map or Set is wrong: V8 makes a new table every few
 * changes, and the old one keeps its entries and a link to the new one. As soon as one old table
 * has outlived two minor garbage collections, it keeps all tables after it alive, with the requests
 * in them, until the next major one: 40 KB a request.
 */
export interface Line<T> extends Iterable<T> {
  /** Puts the member at the end. Call the returned function when it leaves. */
  join(member: T): Leave;
  /** Takes the first member out. Returns undefined if there is none. */
  shift(): T | undefined;
  /** Takes the last member out. Returns undefined if there is none. */
  pop(): T | undefined;
  size(): number;
}

/** Returns false if the member has left before. */
export type Leave = () => boolean;

interface Link<T> {
  readonly member: T;
  previous: Link<T> | null;
  next: Link<T> | null;
  hasLeft: boolean;
}

/** The first member, which stays in the line. Returns undefined if there is none. */
export function firstOf<T>(line: Iterable<T> = []): T | undefined {
  for (const member of line) return member;
  return undefined;
}

export function createLine<T>(): Line<T> {
  let first: Link<T> | null = null;
  let last: Link<T> | null = null;
  let size = 0;
  const leave = (link: Link<T>): boolean => {
    if (link.hasLeft) return false;
    const { previous, next } = link;
    if (previous) previous.next = next;
    else first = next;
    if (next) next.previous = previous;
    else last = previous;
    link.hasLeft = true;
    // Who has left keeps nobody alive.
    link.previous = null;
    link.next = null;
    size -= 1;
    return true;
  };
  const take = (link: Link<T> | null): T | undefined => {
    if (link) leave(link);
    return link?.member;
  };
  return {
    join: (member) => {
      const link: Link<T> = { member, previous: last, next: null, hasLeft: false };
      if (last) last.next = link;
      else first = link;
      last = link;
      size += 1;
      return () => leave(link);
    },
    shift: () => take(first),
    pop: () => take(last),
    size: () => size,
    // Of those who leave meanwhile, only the present one may.
    *[Symbol.iterator]() {
      for (let link = first; link !== null;) {
        const { next, member } = link;
        yield member;
        link = next;
      }
    },
  };
}
