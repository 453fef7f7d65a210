/** Every word of a type, in this order. It does not compile while one is missing. */
export function everyOf<Word extends string>(words: Readonly<Record<Word, true>>): readonly Word[] {
  return Object.keys(words) as Word[];
}
