/** What pages are made of, and what they know of the service. */
import type { Deprecation } from '../core/deprecation.ts';
import type { Language } from '../core/language.ts';
import type { oas31 } from 'zod-openapi';
import type { Markdown } from './markdown.ts';
import type { Reference } from './reference/operations.ts';

/** What is the same for all pages. */
export interface Site {
  /** The language of the pages. */
  readonly language: Language;
  /** The path of an English page in that language, or the same if there is no such page. */
  readonly pathOf: (path: string) => string;
  /** The path of PUBLIC_URL, which precedes every path of the service; '' without one. */
  readonly prefix: string;
  /** The service's public URL, without a slash at its end. */
  readonly publicUrl: string;
  /** The base URL of the API. */
  readonly apiUrl: string;
  /** Whether webhooks may go to `http://localhost`, as in development. */
  readonly allowsLocalReceivers: boolean;
  /** The end of v1, or null. */
  readonly deprecation: Deprecation | null;
  readonly document: oas31.OpenAPIObject;
  readonly reference: Reference;
  readonly markdown: Markdown;
  /** The page of a guide, by the path of the English one. */
  readonly guideAt: (path: string) => Page;
}

export interface Page {
  /** For instance `/docs/quickstart`. Permanent: mails, problems and other pages link to it. */
  readonly path: string;
  readonly title: string;
  /** One sentence, for search engines, lists of pages and llms.txt. */
  readonly description: string;
  /** Wide pages have code beside the text instead of a table of contents. */
  readonly isWide?: boolean;
  /** Only for readers of samples in these languages, where all pages are together. */
  readonly languages?: readonly string[];
  /** Whether it applies what other pages say: where all pages are together, only named. */
  readonly isRecipe?: boolean;
  /** The day on which its text was last changed, if it is a guide. */
  readonly changed?: string;
  /** Whether it tells of earlier versions only. */
  readonly isHistory?: boolean;
  /** Makes the content below the title, in Markdown. */
  readonly source: () => string;
}

/** A group of pages in the navigation. */
export interface NavigationGroup {
  readonly title: string;
  readonly entries: readonly NavigationEntry[];
}

export type NavigationEntry = NavigationLink | NavigationFolder;

export interface NavigationLink {
  readonly page: Page;
  /** If it is not the title of the page. */
  readonly label?: string;
  /** An HTTP method, shown before the label. */
  readonly method?: string;
}

/** Pages that are shown on demand, or while one of them is open. */
export interface NavigationFolder {
  readonly label: string;
  readonly pages: readonly NavigationLink[];
}
