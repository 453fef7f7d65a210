import type { HostMessage } from './host-message.ts';

/** What the host application has set. */
export interface HostChoices {
  readonly theme: boolean;
  readonly language: boolean;
  /** null: as the page is. false: none. Else the names of the pages to show. */
  readonly navigation: false | readonly string[] | null;
}

/** Before it has said anything. */
export const NO_CHOICES: HostChoices = { theme: false, language: false, navigation: null };

/** After another message. What it does not name stays. */
export function choicesAfter(
  before: HostChoices,
  { theme, language, navigation }: Omit<Extract<HostMessage, { type: 'svc:settings' }>, 'type'>,
): HostChoices {
  return {
    theme: before.theme || theme !== undefined,
    language: before.language || language !== undefined,
    navigation:
      navigation === undefined ? before.navigation : navigation === true ? null : navigation,
  };
}

/** The pages of a group that are shown. `false` hides the navigation as a whole, by the style. */
export function shownPages<Page extends { readonly name: string }>(
  pages: readonly Page[],
  navigation: HostChoices['navigation'],
): readonly Page[] {
  return pages.filter(({ name }) => !navigation || navigation.includes(name));
}
