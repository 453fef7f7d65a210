/** Reads what the host application sends. What is wrong is told to its developers. */
import type { PageLanguage } from '../i18n/languages.ts';
import { NAVIGATION } from './navigation.ts';
import type { Theme } from './themes.ts';

/** What a message holds, as far as it can be taken. */
export type HostMessage =
  | { readonly type: 'svc:go'; readonly path: string }
  | {
      readonly type: 'svc:settings';
      readonly token?: string;
      readonly theme?: Theme;
      readonly language?: PageLanguage;
      readonly colors?: object;
      readonly navigation?: boolean | readonly string[];
    }
  | { readonly type: 'nothing' };

export interface HostProblem {
  readonly field: string;
  readonly message: string;
}

const PAGES = NAVIGATION.flatMap(({ pages }) => pages.map(({ name }) => name as string));
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const oneOf =
  (values: readonly string[]) =>
  (value: unknown): boolean =>
    values.includes(value as string);

/** The fields of `svc:settings`, with what each must be. */
const SETTINGS: Readonly<Record<string, readonly [string, (value: unknown) => boolean]>> = {
  token: ['a token', isText],
  theme: ['light, dark or system', oneOf(['light', 'dark', 'system'] satisfies Theme[])],
  language: ['de or en', oneOf(['de', 'en'] satisfies PageLanguage[])],
  colors: ['an object with light and dark', (value) => typeof value === 'object' && value !== null],
  navigation: [
    `true, false or a list of pages: ${PAGES.join(', ')}`,
    (value) => typeof value === 'boolean' || (Array.isArray(value) && value.every(oneOf(PAGES))),
  ],
};

export function readHostMessage(data: unknown): {
  readonly message: HostMessage;
  readonly problems: readonly HostProblem[];
} {
  const given = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>;
  const { type, ...fields } = given;
  if (type === 'svc:go')
    return typeof fields['path'] === 'string' && /^\/(?!\/)/.test(fields['path'])
      ? { message: { type, path: fields['path'] }, problems: [] }
      : refused('path', 'must be a path of the page, such as /keys');
  if (type !== 'svc:settings') return refused('type', 'must be svc:settings or svc:go');
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const problems = entries.flatMap(([field, value]) => {
    const rule = SETTINGS[field];
    if (!rule) return { field, message: `is not one of ${Object.keys(SETTINGS).join(', ')}` };
    const [expected, fits] = rule;
    return fits(value) ? [] : { field, message: `must be ${expected}` };
  });
  const wrong = new Set(problems.map(({ field }) => field));
  const good = Object.fromEntries(entries.filter(([field]) => !wrong.has(field)));
  return { message: { type, ...good }, problems };
}

function refused(field: string, message: string) {
  return { message: { type: 'nothing' }, problems: [{ field, message }] } as const;
}
