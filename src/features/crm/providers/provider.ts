/**
 * What a CRM provider implements. To add a provider:
 *  1. write `<name>.ts` in this folder, with `defineProvider`;
 *  2. add its line to `registry.ts`, and its name to `core/vocabularies.ts`;
 *  3. write its fake server, `test/support/crm/<name>.ts`.
 * Every name, input shape and enum derives from the registry, and `test/features/crm-provider-*`
 * runs over all registered providers.
 *
 * A provider file is loaded by every process. Packages are large, so only the methods that read
 * lists import them, which are for workers. `check` works without, because API processes call it
 * (`requests.ts`).
 */
import { z } from 'zod';
import type { DealOutcome } from '../../../core/vocabularies.ts';
import { providerError } from './errors.ts';

/** A deal in our terms. Texts are what the CRM gave; money is exact decimal text. */
export interface ProviderDeal {
  /** As `idOf` returns it. */
  readonly externalId: string;
  readonly outcome: DealOutcome;
  readonly title: string | null;
  /** As `decimalOf` returns it. */
  readonly amount: string | null;
  readonly currency: string | null;
  readonly closeDate: string | null;
  /** 0 to 100. */
  readonly probability: number | null;
  readonly pipelineId: string | null;
  readonly stageId: string | null;
  /** Only for lost deals. */
  readonly lostReason: string | null;
  /** The owner's id in the CRM: a key of `listOwners`. */
  readonly ownerId: string | null;
  /** As `instantOf` returns it. */
  readonly lastActivityAt: string | null;
}

export interface ProviderNote {
  /** As `idOf` returns it. */
  readonly id: string;
  /** `externalId` of the deals that the note belongs to; empty for a deleted note. */
  readonly dealIds: readonly string[];
  /** HTML or plain text. */
  readonly html: string;
}

export interface ProviderPage {
  readonly deals: readonly ProviderDeal[];
  /** `externalId` of deleted deals. */
  readonly deletedDealIds: readonly string[];
  readonly notes: readonly ProviderNote[];
  /** The cursor of the next page, as `cursorOf` returns it; null after the last page. */
  readonly next: string | null;
  /** The latest modification time on the page, ISO; null if the list is not read by that time. */
  readonly modifiedUntil: string | null;
}

export interface PagePlace {
  /** Read only what was modified at or after this time, ISO; null: read everything. */
  readonly since: string | null;
  /** `next` of the previous page, possibly read by another process; null for the first page. */
  readonly cursor: string | null;
}

/**
 * An open connection to a CRM. Each network call ends within `timeoutMs`. The methods throw
 * `ProviderError` only.
 *
 * Pages must be read by key, not by offset: a deal that changes between two pages may be read
 * twice, but must not make the next page skip another one. The same holds for one that the CRM
 * sorts by what it was, and returns as it is now.
 */
export interface ProviderClient {
  /**
   * The names of the lists that a round reads, in this order. Deals come before their notes.
   * `sweep` and `end` are reserved.
   */
  readonly lists: readonly string[];
  /** Reads one entry of each kind, to find out whether the credentials are sufficient. */
  check(): Promise<void>;
  /** The CRM's users: id → email. */
  listOwners(): Promise<ReadonlyMap<string, string>>;
  readPage(list: string, place: PagePlace): Promise<ProviderPage>;
  /** Frees sockets. Calls that are still running may fail. */
  close(): void;
}

export interface ClientOptions {
  /**
   * Replaces every address of the provider, the one that issues OAuth tokens included; null: the
   * provider's own addresses.
   */
  readonly baseUrl: string | null;
  readonly timeoutMs: number;
  /** An answer that is larger is an `invalid_response`. */
  readonly answerMaxBytes: number;
  /** Whether the lists include notes. */
  readonly readsNotes: boolean;
}

export interface Provider<Credentials extends z.ZodType = z.ZodType> {
  readonly credentials: Credentials;
  /**
   * `storedCredentials` is what `serializeCredentials` returned. Makes no network call. Throws the
   * `ProviderError` `credentials_unreadable` if the provider no longer accepts them.
   */
  open(storedCredentials: string, options: ClientOptions): Promise<ProviderClient>;
}

/**
 * `credentials` is everything that identifies a customer's account in the CRM, and what admins send
 * when they connect it: a token, or an object such as OAuth client id, client secret and refresh
 * token with the URL of the instance. It is encrypted and stored as a whole.
 *  * The shape must accept its own output: stored credentials are parsed again at each run.
 *  * A URL in it must be limited to the CRM's own domains, or an admin could make us call any host.
 *  * Nothing is written back. A CRM that replaces the refresh token at each use needs that first.
 */
export function defineProvider<Credentials extends z.ZodType>(definition: {
  readonly credentials: Credentials;
  open(credentials: z.output<Credentials>, options: ClientOptions): Promise<ProviderClient>;
}): Provider<Credentials> {
  const { credentials } = definition;
  return {
    credentials,
    open: async (stored, options) => definition.open(parseStored(credentials, stored), options),
  };
}

/** The shape of credentials that are one static token. */
export function tokenShape(description: string) {
  return z
    .string()
    .min(1)
    .max(4096)
    .regex(/^[!-~]+$/, { error: 'A token has neither spaces nor line breaks.' })
    .meta({ description });
}

/** Credentials as the text to be encrypted: a token as it is, anything else as JSON. */
export function serializeCredentials(credentials: unknown): string {
  return typeof credentials === 'string' ? credentials : JSON.stringify(credentials);
}

function parseStored<Credentials extends z.ZodType>(
  shape: Credentials,
  stored: string,
): z.output<Credentials> {
  const asToken = shape.safeParse(stored);
  if (asToken.success) return asToken.data;
  try {
    return shape.parse(JSON.parse(stored));
  } catch {
    // Without the cause: the message of a JSON error quotes the text.
    throw providerError('credentials_unreadable');
  }
}
