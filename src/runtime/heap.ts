import { setFlagsFromString } from 'node:v8';

/**
 * Suits V8's heap to a process that serves requests: nearly all objects live for one request only.
 *
 *  * After a full collection, the heap may grow to 1.6 times of what is left before the next one.
 *    By default, V8 chooses how far by how busy the process was just then. After a quiet moment it
 *    chose so little that a busy process made up to ten full collections where it needs three.
 *    The room for what is new is chosen with it (`scripts/bench/README.md`, "Memory"), on the
 *    command line, because V8 must know it at its start.
 *  * No allocation site is "pretenured". Under load, the objects of requests in flight survive
 *    small collections. V8 may conclude that objects of their kind live long, and allocates all
 *    later ones where only a full collection finds them. One process of twenty did so: its p99 was
 *    more than twice as long as that of others, for as long as it ran.
 *
 * Call it before the process serves anything.
 */
export function suitHeap(): void {
  setFlagsFromString('--heap-growing-percent=60');
  setFlagsFromString('--no-allocation-site-pretenuring');
}
