// Somebody who uses a page, by the mouse or by the keyboard alone. A test that takes `Hands` runs
// in both ways. Elements are found by their role and name, as people find them.
import type { Locator, Page } from 'playwright-core';
import { until } from './until.ts';

export interface Hands {
  /** Clicks and key presses so far. Each character of a text is one. */
  count(): number;
  /** Uses a button or a link. */
  press(target: Locator): Promise<void>;
  /** Switches a check box, or chooses a radio button. */
  check(target: Locator): Promise<void>;
  /** Replaces the text of a field. */
  write(target: Locator, text: string): Promise<void>;
  /** Chooses an option of a list by its text. */
  choose(target: Locator, option: string): Promise<void>;
  /** Enters a date and a time of day, such as `2026-11-20T09:30`. */
  pick(target: Locator, moment: string): Promise<void>;
}

const TABS_MAX = 150;

/** What these functions read of an element. They run in the page. */
interface Control {
  readonly ownerDocument: { readonly activeElement: Control | null };
  readonly type?: string;
  readonly name?: string;
  readonly selectedIndex?: number;
}
const hasFocus = (element: Control): boolean => element === element.ownerDocument.activeElement;
const groupHasFocus = (element: Control): boolean => {
  const { activeElement } = element.ownerDocument;
  return activeElement?.type === 'radio' && activeElement.name === element.name;
};

/** Somebody with a mouse, who types only texts. */
function mouseHands(page: Page): Hands {
  let used = 0;
  const click = async (target: Locator): Promise<void> => {
    await target.click();
    used += 1;
  };
  return {
    count: () => used,
    press: click,
    check: click,
    write: async (target, text) => {
      await target.click({ clickCount: 3 });
      await page.keyboard.type(text);
      used += 3 + text.length;
    },
    choose: async (target, option) => {
      // The list is a window of the system, which no test can click in.
      await target.selectOption({ label: option });
      used += 2;
    },
    pick: async (target, moment) => {
      // So is the calendar.
      await target.fill(moment);
      used += 4;
    },
  };
}

/** Somebody who has no mouse: Tab, the arrow keys, Space and Enter. */
function keyboardHands(page: Page): Hands {
  let used = 0;
  const key = async (name: string): Promise<void> => {
    await page.keyboard.press(name);
    used += 1;
  };
  /** Presses Tab until the focus is there. */
  const tabTo = async (target: Locator, condition = hasFocus): Promise<void> => {
    await target.waitFor();
    for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
      if (await target.evaluate(condition)) return;
      await key('Tab');
    }
    throw new Error(`the focus never came to ${String(target)}`);
  };
  return {
    count: () => used,
    press: async (target) => {
      await tabTo(target);
      // A busy button takes no key, as it takes no click, for which Playwright waits by itself.
      await until(async () => (await target.getAttribute('data-busy')) === null);
      await key('Enter');
    },
    check: async (target) => {
      if ((await target.getAttribute('type')) !== 'radio') {
        await tabTo(target);
        return key('Space');
      }
      // Tab comes to one button of a group only, the arrow keys to the others.
      await tabTo(target, groupHasFocus);
      if (await target.isChecked()) return undefined;
      if (await target.evaluate(hasFocus)) await key('Space');
      for (let arrows = 0; !(await target.evaluate(hasFocus)); arrows += 1) {
        if (arrows === TABS_MAX) throw new Error(`no arrow key leads to ${String(target)}`);
        await key('ArrowDown');
      }
      // The arrow key has chosen it. A page may show that only once it is stored.
      await until(() => target.isChecked());
      return undefined;
    },
    write: async (target, text) => {
      await tabTo(target);
      await key('Control+A');
      await page.keyboard.type(text);
      used += text.length;
    },
    choose: async (target, option) => {
      await tabTo(target);
      const place = () => target.evaluate((select: Control) => select.selectedIndex ?? -1);
      const texts = await target.locator('option').allTextContents();
      const wanted = texts.indexOf(option);
      if (wanted === -1) throw new Error(`no option "${option}", but ${texts.join(', ')}`);
      for (let now = await place(); now !== wanted; now = await place()) {
        await key(now < wanted ? 'ArrowDown' : 'ArrowUp');
        // The page may draw the list anew.
        await until(async () => (await place()) !== now);
      }
    },
    pick: async (target, moment) => {
      await tabTo(target);
      // The field has a place for each part. Coming from before it leads to the first.
      while (await target.evaluate(hasFocus)) await key('Shift+Tab');
      await key('Tab');
      const [year = '', month = '', day = '', hour = '', minute = ''] = moment.split(/\D/);
      // The order of the browser's own language, US English, whatever the language of the page is.
      const half = Number(hour) < 12 ? 'A' : 'P';
      const twelve = String(Number(hour) % 12 || 12).padStart(2, '0');
      for (const one of `${month}${day}${year}${twelve}${minute}${half}`) await key(one);
      await until(async () => (await target.inputValue()) === moment);
    },
  };
}

/** Both ways to use a page. */
export const WAYS = { mouse: mouseHands, keyboard: keyboardHands } as const;
export type Way = keyof typeof WAYS;
export const WAY_NAMES = Object.keys(WAYS) as Way[];
