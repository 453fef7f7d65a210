import type { Language } from './language.ts';
import { isSandbox } from './sandbox.ts';

/** A mail in plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Further headers, for instance `List-Unsubscribe`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Who gets a mail of a team, and in which language. */
export interface MailRecipient {
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
}

/**
 * Returns the subject as it may be sent. A team chooses its name, which must neither end the header
 * nor hold an encoded word (RFC 2047): a mail program would show another text than we have sent.
 */
export function subjectOf(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').replaceAll('=?', '= ?');
}

/**
 * Sends a mail on behalf of a team. Nothing that is about a sandbox is sent: it is kept, to be read
 * there. Rejects like a {@link Mailer}.
 */
export type TeamMailer = (teamId: string, mail: Mail) => Promise<void>;

/**
 * What became of a mail that was offered to the mail server. `refused`: it refuses this mail or its
 * recipient for good. `deferred`: it takes no mail for this recipient now. `failed`: anything else,
 * which concerns all mails.
 */
export const MAIL_RESULTS = ['taken', 'refused', 'deferred', 'failed'] as const;
export type MailResult = (typeof MAIL_RESULTS)[number];
export type MailFailure = Exclude<MailResult, 'taken'>;

/** The mail server did not accept a mail. The message has codes only. */
export class MailNotTaken extends Error {
  override readonly name = 'MailNotTaken';
  readonly failure: MailFailure;

  constructor(message: string, failure: MailFailure) {
    super(message);
    this.failure = failure;
  }
}

/** Whether a mail failed by itself or its recipient. The mail server may well accept others. */
export function isOfRecipient(error: unknown): boolean {
  return error instanceof MailNotTaken && error.failure !== 'failed';
}

/** Sends a mail. Rejects with a {@link MailNotTaken}, so that the job is retried. */
export type Mailer = (mail: Mail) => Promise<void>;

/** The address of the admin page of a team; that of a sandbox has pages of its own. */
export function adminUrlOf(publicUrl: string, teamId: string): string {
  return `${publicUrl}/admin${isSandbox(teamId) ? '/sandbox' : ''}`;
}

/** Date and time in UTC, to the minute. */
export function minuteOf(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}

/**
 * Customers choose names. A line break in one must not become a mail header, or look like a line of
 * our text.
 */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
