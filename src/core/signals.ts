/**
 * Reports named steps of a background component ("roundDone"), so that a test can wait for one
 * instead of for time. Production passes none.
 */
export type Signals<Name extends string> = (name: Name) => void;
