/** Ids as people paste them, with what stands around them. */

/** The id of a request in a text, such as a whole message, or null. */
export function requestIdIn(text: string): string | null {
  const found = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(text);
  return found && found[0].toLowerCase();
}

/** Another id in a text, such as `mem_01jc4f3x`, with its kind, or null. */
export function idIn(text: string): { readonly kind: string; readonly id: string } | null {
  const found = /\b([a-z]{3})_[0-9a-z][\w-]{2,}/.exec(text);
  return found && { kind: found[1] ?? '', id: found[0] };
}

/** What stands before the prefix of a key. Only those of test keys begin with `t`. */
export function beginOfKey(prefix: string): string {
  return prefix.startsWith('t') ? 'svck_test_' : 'svck_live_';
}

/** Whether the text holds a secret, which must go nowhere. */
export function holdsSecret(text: string): boolean {
  return /svck_(?:live|test)_|whsec_/.test(text);
}
