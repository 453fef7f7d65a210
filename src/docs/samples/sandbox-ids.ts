/**
 * The ids of every sandbox in place of those that the examples name. The script of the pages shows
 * them as soon as the reader's key is a test key, so that samples and forms work as they are. What
 * a customer makes, such as a webhook endpoint, has no id that is known beforehand.
 */
import { html, trusted, type Html } from '../html.ts';

const IN_SANDBOX: Readonly<Record<string, string>> = {
  mem_01jc4f3x: 'mem_sandbox_clara',
  usr_01jc4f40: 'usr_sandbox_clara',
  asg_01jc4f5a: 'asg_sandbox_open',
  trn_01jc4f6b: 'trn_sandbox_001',
  cas_01jc4f7b: 'cas_sandbox_discount',
  deal_01jc4f7c: 'deal_sandbox_1',
  obj_01jc4f8d: 'obj_sandbox_1',
  sit_cold: 'sit_sandbox_first_call',
  per_calm: 'per_sandbox_sceptic',
  ind_saas: 'ind_sandbox_software',
};
const IDS = new RegExp(`\\b(?:${Object.keys(IN_SANDBOX).join('|')})\\b`, 'g');

/** A text with the ids of a sandbox in place of those of the examples. */
export function inSandbox(text: string): string {
  return text.replaceAll(IDS, (id) => IN_SANDBOX[id] ?? id);
}

/** HTML of text without attributes, in which the script finds the ids of the examples. */
export function markIds({ html: text }: Html): Html {
  const marked = text.replaceAll(
    IDS,
    (id) => html`<span data-test="${inSandbox(id)}">${id}</span>`.html,
  );
  return trusted(marked);
}

/** For a field of a form: what it begins with for a test key. null: the same as for another one. */
export function testValue(text: string): Html | null {
  const value = inSandbox(text);
  return value === text ? null : html`data-test="${value}"`;
}
