// Every dialog of the admin page in both languages: it shows the texts of its keys, all of them, in
// their order, and nothing else. `*` stands for what is no text of the page, such as a moment. Esc
// closes it, unless what it shows would be lost, and the focus goes back to where it was.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en, type Texts } from '../../src/admin-ui/i18n/en.ts';
import { SUBSCRIBABLE_EVENTS } from '../../src/admin-ui/pages/event-types.ts';
import { NAVIGATION } from '../../src/admin-ui/lib/navigation.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { findDialogs } from '../support/admin-ui.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFailed, makeMember, makeSeed, makeTeam } from '../support/seed.ts';

const LANGUAGES = { de: { locale: 'de-DE', t: de }, en: { locale: 'en-GB', t: en } } as const;
const REHEARSED = 'rehearsed';
type Language = keyof typeof LANGUAGES;

interface Place {
  readonly page: Page;
  readonly t: Texts;
  readonly press: (name: string) => Promise<void>;
  readonly pressInDialog: (name: string) => Promise<void>;
  /** Presses a button of the menu of a row. */
  readonly pressFor: (row: string, name: string) => Promise<void>;
}

interface Shown {
  readonly path: string;
  /** Another team, which has a sandbox. */
  readonly team?: typeof REHEARSED;
  readonly open: (place: Place) => Promise<void>;
  /** Without the title and what closes the dialog. */
  readonly texts: (t: Texts) => readonly string[];
  /** It has no way out but what is in it. */
  readonly isLocked?: true;
}

const roleTexts = ({ members, roles }: Texts): string[] => [
  members.role,
  ...(['member', 'admin'] as const).flatMap((role) => [roles[role], members.roleHints[role]]),
];

const graceTexts = ({ keys }: Texts, offered: readonly (keyof Texts['keys']['graces'])[]) =>
  offered.map((one) => (one === 'now' ? keys.graces.now : keys.graceUntil(keys.graces[one], '*')));

const secretTexts = (
  t: Texts,
  texts: { title: string; hint: string; stored: string; whyNot: string },
  more: readonly string[],
): string[] => [
  texts.hint,
  ...copyTexts(t, texts.title),
  ...more,
  texts.stored,
  texts.whyNot,
  t.keys.secretDone,
  texts.whyNot,
];

const scenarioTexts = ({ sandbox }: Texts): string[] => [
  sandbox.scenario,
  ...['typical', 'large', 'empty'].flatMap((one) => [
    sandbox.scenarios[one] ?? '',
    sandbox.scenarioHints[one] ?? '',
  ]),
];

const copyTexts = ({ common }: Texts, label: string): string[] => [
  `${common.copy}: ${label}`,
  common.copy,
];

const webhookSecret = (t: Texts, more: readonly string[]): string[] => {
  const { secretTitle, secretHint, secretStored, secretWhyNot } = t.webhooks;
  return secretTexts(
    t,
    { title: secretTitle, hint: secretHint, stored: secretStored, whyNot: secretWhyNot },
    more,
  );
};

/** The port of the last webhook endpoint that a dialog has made. */
let lastPort = 9;

/** The dialogs by the place that opens each of them and the key of its title. */
const DIALOGS: Readonly<Record<string, Shown>> = {
  'pages/change-member.tsx members.changeTitle': {
    path: '/members',
    open: ({ t, pressFor }) => pressFor('admin@dialog.test', t.members.change),
    texts: (t) => [
      ...roleTexts(t),
      t.members.right,
      t.members.rightHint,
      t.common.cancel,
      t.common.save,
    ],
  },
  'pages/connect-crm.tsx crm.connect': {
    path: '/crm',
    open: ({ t, press }) => press(t.crm.connect),
    texts: (t) => [
      t.crm.provider,
      ...Object.values(t.crm.providers),
      t.crm.token,
      `${t.crm.tokenHints['hubspot']} . ${t.crm.tokenTested}`,
      `${t.crm.marker} (${t.common.optional})`,
      t.crm.markerHint,
      t.common.cancel,
      t.crm.connectNow,
    ],
  },
  'pages/create-sandbox.tsx sandbox.create': {
    path: '/play',
    open: ({ t, press }) => press(t.sandbox.create),
    texts: (t) => [
      t.sandbox.createHint,
      ...scenarioTexts(t),
      t.sandbox.what,
      t.common.cancel,
      t.sandbox.create,
    ],
  },
  'pages/crm.tsx crm.disconnectTitle': {
    path: '/crm',
    open: ({ t, press }) => press(t.crm.disconnect),
    texts: (t) => [t.crm.disconnectHint, t.common.cancel, t.crm.disconnect],
  },
  'pages/end-key.tsx keys.revokeTitle': {
    path: '/keys',
    open: ({ t, press }) => press(`${t.keys.revoke}: users:write`),
    texts: ({ keys, common }) => [
      keys.leak,
      keys.leakNo,
      keys.leakYes,
      keys.revokeUnused,
      keys.revokeFinal,
      common.cancel,
      keys.revokeNow,
    ],
  },
  'pages/finder.tsx finder.title': {
    path: '/keys',
    open: ({ t, press }) => press(t.finder.open),
    texts: (t) => [
      t.finder.label,
      t.finder.placeholder,
      t.finder.found,
      ...NAVIGATION.flatMap(({ pages }) => pages.map(({ name }) => t.nav[name])).flatMap((name) => [
        name,
        t.finder.page,
      ]),
      t.finder.hint,
    ],
  },
  'pages/invite-member.tsx members.invite': {
    path: '/members',
    open: ({ t, press }) => press(t.members.invite),
    texts: (t) => [
      t.members.email,
      ...roleTexts(t),
      t.members.language,
      t.members.languages.de,
      t.members.languages.en,
      t.common.cancel,
      t.members.sendInvitation,
    ],
  },
  'pages/key-secret.tsx keys.secretTitle': {
    path: '/keys',
    open: async ({ t, press, pressInDialog }) => {
      await press(`${t.keys.rotate}: ${t === de ? 'cases:read' : 'catalog:read'}`);
      await pressInDialog(t.keys.rotateNow);
    },
    texts: (t) => {
      const { secretTitle, secretHint, secretStored, secretWhyNot, secretTry } = t.keys;
      return secretTexts(
        t,
        { title: secretTitle, hint: secretHint, stored: secretStored, whyNot: secretWhyNot },
        [secretTry, ...copyTexts(t, secretTry)],
      );
    },
    isLocked: true,
  },
  'pages/remove-member.tsx members.removeTitle': {
    path: '/members',
    open: async ({ page, t, pressFor }) => {
      await pressFor('member@dialog.test', t.members.remove);
      await page.getByText(t.members.leaverNoRight).waitFor();
    },
    texts: (t) => [
      t.members.leaverNoRight,
      t.members.leaverOpen(0, ''),
      t.members.leaverKeys(1, 'by_member'),
      t.members.leaverToKeys,
      t.members.removeHint,
      t.common.cancel,
      t.members.remove,
    ],
  },
  'pages/members.tsx members.withdrawTitle': {
    path: '/members',
    open: ({ t, pressFor }) => pressFor('guest@dialog.test', t.members.withdraw),
    texts: (t) => [t.members.withdrawHint, t.common.cancel, t.members.withdraw],
  },
  'pages/endpoint-secret.tsx webhooks.secretTitle': {
    path: '/webhooks/new',
    open: async ({ page, t, press }) => {
      // Each has a host of its own, by which the other dialogs name it.
      lastPort += 1;
      await page.getByLabel(t.webhooks.url).fill(`http://127.0.0.1:${lastPort}/hook`);
      await page.getByLabel(t.webhooks.eventNames['member.joined'] ?? '').check();
      await press(t.webhooks.create);
    },
    texts: (t) => webhookSecret(t, [t.webhooks.howToVerify]),
    isLocked: true,
  },
  'pages/privacy.tsx privacy.titleOff': {
    path: '/privacy',
    open: ({ t, press }) => press(`${t.privacy.detail}: ${t.privacy.turnOff}`),
    texts: (t) =>
      privacyTexts(t, {
        here: t.privacy.here.detailOff,
        scopes: [
          'users:read',
          'trainings:read',
          'evaluations:read',
          'assignments:read',
          'cases:read',
          'analytics:read',
          'webhooks:manage',
        ],
        confirm: t.privacy.confirmOff,
      }),
  },
  'pages/privacy.tsx privacy.titleOn': {
    path: '/privacy',
    open: ({ t, press }) => press(`${t.privacy.leaderboard}: ${t.privacy.turnOn}`),
    texts: (t) =>
      privacyTexts(t, {
        here: t.privacy.here.leaderboardOn,
        scopes: ['analytics:read'],
        confirm: t.privacy.confirmOn,
      }),
  },
  'pages/replace-token.tsx crm.enterTitle': {
    path: '/crm',
    open: ({ t, press }) => press(t.crm.enter),
    texts: (t) => [
      t.crm.enterHint,
      t.crm.token,
      `${t.crm.tokenHints['pipedrive']} ${t.crm.tokenTested}`,
      t.common.cancel,
      t.crm.enterNow,
    ],
  },
  'pages/replace-token.tsx crm.replaceTitle': {
    path: '/crm',
    open: ({ t, press }) => press(t.crm.replace),
    texts: (t) => [
      t.crm.replaceHint,
      t.crm.token,
      `${t.crm.tokenHints['pipedrive']} ${t.crm.tokenTested}`,
      t.common.cancel,
      t.crm.replaceNow,
    ],
  },
  'pages/resend.tsx resend.title': {
    path: '/deliveries',
    open: async ({ page, t, press }) => {
      await press(t.resend.open);
      await page.getByText(t.resend.total(1, '1')).waitFor();
    },
    texts: (t) => [
      t.resend.hint,
      t.deliveries.endpoint,
      t.resend.allEndpoints,
      '*',
      '*',
      t.deliveries.state,
      t.common.all,
      ...['retrying', 'gave_up'].map((one) => t.deliveries.states[one] ?? one),
      t.deliveries.event,
      t.common.all,
      ...SUBSCRIBABLE_EVENTS.map((one) => t.webhooks.eventNames[one] ?? one),
      t.times.label,
      ...Object.values(t.times.pasts),
      t.resend.total(1, '1'),
      t.common.cancel,
      t.resend.start('1'),
    ],
  },
  'pages/rotate-key.tsx keys.rotateTitle': {
    path: '/keys',
    open: ({ t, press }) => press(`${t.keys.rotate}: users:read`),
    texts: (t) => [
      t.keys.rotateHint,
      t.keys.grace,
      ...graceTexts(t, ['hour', 'day', 'week', 'month', 'now']),
      t.common.cancel,
      t.keys.rotateNow,
    ],
  },
  'pages/remove-sandbox.tsx sandbox.removeTitle': {
    path: '/play',
    team: REHEARSED,
    open: ({ t, press }) => press(t.sandbox.remove),
    texts: (t) => [t.sandbox.removeHint, t.common.cancel, t.sandbox.remove],
  },
  'pages/reset-sandbox.tsx sandbox.resetTitle': {
    path: '/sandbox/play',
    team: REHEARSED,
    open: ({ t, press }) => press(t.sandbox.reset),
    texts: (t) => [...scenarioTexts(t), t.sandbox.resetHint, t.common.cancel, t.sandbox.resetNow],
  },
  'pages/rotate-secret.tsx webhooks.rotate': {
    path: '/webhooks/whe_1',
    open: ({ t, press }) => press(t.webhooks.rotate),
    texts: (t) => [
      t.webhooks.rotateGrace,
      ...graceTexts(t, ['hour', 'day', 'week', 'now']),
      t.webhooks.rotateHint,
      t.common.cancel,
      t.webhooks.rotate,
    ],
  },
  'pages/webhook.tsx webhooks.pauseTitle': {
    path: '/webhooks/whe_1',
    open: ({ t, press }) => press(t.webhooks.pause),
    texts: (t) => [t.webhooks.pausedHint, t.common.cancel, t.webhooks.pause],
  },
  'pages/webhook.tsx webhooks.removeTitle': {
    path: '/webhooks/whe_1',
    open: ({ t, press }) => press(t.webhooks.remove),
    texts: (t) => [t.webhooks.removeHint, t.common.cancel, t.webhooks.remove],
  },
  'sign-in.tsx session.ended': {
    path: '/keys',
    open: async ({ page }) => {
      await page.context().clearCookies();
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    },
    texts: (t) => [t.session.endedHint, t.session.noneHint, t.common.retry],
    isLocked: true,
  },
};

/** What a title names. */
const NAMES: Readonly<Record<string, (t: Texts) => string>> = {
  'members.changeTitle': () => 'admin@dialog.test',
  'members.removeTitle': () => 'member@dialog.test',
  'members.withdrawTitle': () => 'guest@dialog.test',
  'crm.disconnectTitle': () => 'Pipedrive',
  'crm.enterTitle': () => 'Pipedrive',
  'crm.replaceTitle': () => 'Pipedrive',
  'keys.revokeTitle': () => 'users:write',
  'keys.rotateTitle': () => 'users:read',
  'privacy.titleOff': (t) => t.privacy.detail,
  'privacy.titleOn': (t) => t.privacy.leaderboard,
};

function privacyTexts(
  { privacy, common, keys }: Texts,
  {
    here,
    scopes,
    confirm,
  }: { readonly here: string; readonly scopes: readonly string[]; readonly confirm: string },
): string[] {
  return [
    here,
    privacy.concerned,
    // The full key and one of its own, at least.
    ...scopes.map((scope) => `${keys.scopeNames[scope]}: *`),
    privacy.example,
    privacy.whenOn,
    privacy.whenOn,
    privacy.whenOff,
    privacy.whenOff,
    privacy.at,
    common.cancel,
    confirm,
  ];
}

/** The text of a key such as `crm.connect`; that of a function, for what it names here. */
function titleOf(t: Texts, key: string): string {
  const [section = '', name = ''] = key.split('.');
  const found = (t as unknown as Record<string, Record<string, unknown>>)[section]?.[name];
  if (typeof found === 'string') return found;
  const named = NAMES[key];
  if (typeof found !== 'function' || !named) throw new Error(`the test has no title for ${key}`);
  return String((found as (of: string) => string)(named(t)));
}

/** The texts of a dialog in their order, but for what is shown as code: labels, titles, texts. */
const READ = (dialog: Element): string[] =>
  [...dialog.querySelectorAll('*')].flatMap((element) => {
    const own = [...element.childNodes]
      .filter((node) => node.nodeType === 3)
      .map((node) => node.textContent)
      .join('');
    const labels = ['aria-label', 'title', 'placeholder'].map((name) => element.getAttribute(name));
    const texts = element.tagName === 'CODE' ? labels : [...labels, own];
    return texts
      .map((text) => (text ?? '').replaceAll(/\s+/g, ' ').trim())
      .filter((text) => /\p{L}/u.test(text));
  });

/** Whether the focus is on the first field, or on the heading of a dialog without fields. */
const BEGINS = (dialog: Element): boolean => {
  const [field] = dialog.querySelectorAll(
    `input:not([type='radio']), input:checked, select, textarea`,
  );
  return (field ?? dialog.querySelector('h2'))?.matches(':focus') ?? false;
};

/** The name of the button that has the focus. */
const FOCUSED = `(() => {
  const seen = document.activeElement.cloneNode(true);
  for (const mark of seen.querySelectorAll('[aria-hidden="true"]')) mark.remove();
  return (seen.ariaLabel ?? seen.textContent).trim();
})()`;

describe.skipIf(SKIPPED !== '')(`the admin page: dialogs${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    const team = makeTeam('dialog', {
      members: [makeMember('dialog', 'guest', { status: 'invited' })],
      privacy: { leaderboard_enabled: false },
      crm_connections: [
        { id: 'crm_1', provider: 'pipedrive' },
        { id: 'crm_bare', provider: 'pipedrive' },
      ],
      webhook_endpoints: ['whe_1', 'whe_2'].map((id) => ({
        id,
        url: 'https://hooks.example.com/in',
        events: ['member.joined' as const],
      })),
      webhook_deliveries: [makeFailed('whd_1', 'whe_1')],
    });
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([team, makeTeam(REHEARSED)]),
    });
    await openSandbox(api, REHEARSED);
    // Nothing reads them here.
    await api.db.pool.query(
      `update crm_connection
       set credentials_encrypted = 'anything'
       where id = 'crm_1'`,
    );
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('knows every dialog', () => {
    expect(Object.keys(DIALOGS).toSorted()).toEqual(findDialogs());
  });

  const all = Object.entries(DIALOGS);
  const cases = (Object.keys(LANGUAGES) as Language[]).flatMap((language) =>
    all.map(([name, shown]) => [language, name, shown] as const),
  );

  it.each(cases)('in %s shows its texts: %s', async (language, name, shown) => {
    const { t, locale } = LANGUAGES[language];
    const { page } = await openAdminPage(browser, api, {
      path: shown.path,
      team: shown.team ?? 'dialog',
      locale,
    });
    await settle(page);
    const dialogs = page.getByRole('dialog');
    let opener = '';
    const buttonOf = (button: string) =>
      page.getByRole('button', { name: button, exact: true }).first();
    const press = (button: string) => {
      opener = button;
      return buttonOf(button).click();
    };
    await shown.open({
      page,
      t,
      press,
      pressFor: async (row, button) => {
        await press(`${t.common.actions}: ${row}`);
        await buttonOf(button).click();
      },
      pressInDialog: (button) =>
        dialogs.getByRole('button', { name: button, exact: true }).first().click(),
    });
    const title = titleOf(t, name.split(' ')[1] ?? '');
    const dialog = page.getByRole('dialog', { name: title, exact: true });
    await dialog.waitFor();
    await settle(page);
    const close = shown.isLocked ? [] : [t.common.close];
    // Each dialog of a sandbox is marked as one.
    const mark = shown.path.startsWith('/sandbox') ? [t.sandbox.name] : [];
    const expected = [title, ...mark, ...close, ...shown.texts(t)];
    const seen = await dialog.evaluate(READ);
    expect(await dialog.evaluate(BEGINS)).toBe(true);
    expect(
      seen.map((text, place) => (matches(expected[place], text) ? expected[place] : text)),
    ).toEqual(expected);
    // Browsers close a dialog at the second Esc, whatever the page says at the first.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: shown.isLocked ? 'visible' : 'detached' });
    const focused = shown.isLocked ? opener : await page.evaluate<string>(FOCUSED);
    expect(focused).toBe(opener);
    await page.context().close();
  });
});

function matches(pattern: string | undefined, text: string): boolean {
  if (pattern === undefined) return false;
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`).test(text);
}
