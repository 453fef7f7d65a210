import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { newRequestId } from '../core/ids.ts';
import {
  MailNotTaken,
  subjectOf,
  type Mail,
  type MailFailure,
  type MailResult,
  type Mailer,
} from '../core/mail.ts';

/** How long a mail server may be silent. */
const SMTP_TIMEOUT_MS = 20_000;
/**
 * How long a mail may take. A server that sends one line of its answer after the other is never
 * silent. A mail takes about nine answers, each of which may take SMTP_TIMEOUT_MS: so a server that
 * is only slow gets no mail twice.
 */
const SMTP_TIME_LIMIT_MS = 9 * SMTP_TIMEOUT_MS;

export interface MailerOptions {
  readonly timeLimitMs?: number;
  /** Asked for each mail: ends its session with the server. */
  readonly signal?: () => AbortSignal | null;
}

/** The sessions with the mail server of one run of the mails after the other. */
export interface MailSessions {
  /** Aborts at the end of the present run. */
  readonly signal: () => AbortSignal;
  /** Ends the sessions of the present run, because another one sends its mails. That one begins. */
  readonly handOver: () => void;
}

/** Begins the first run. */
export function openMailSessions(): MailSessions {
  let present = new AbortController();
  return {
    signal: () => present.signal,
    handOver: () => {
      present.abort();
      present = new AbortController();
    },
  };
}

/**
 * Creates a mailer for the server at SMTP_URL. If SMTP_URL is not set, each mail becomes an `.eml`
 * file in MAIL_DIR, so that development needs no mail server. Only our user may read the files.
 */
export function createMailer(
  config: Pick<Config, 'smtpUrl' | 'mailFrom' | 'mailDir'>,
  logger: Logger,
  { timeLimitMs = SMTP_TIME_LIMIT_MS, signal = () => null }: MailerOptions = {},
): Mailer {
  const from = config.mailFrom ?? 'Team Customer API <no-reply@localhost>';
  const toSend = (mail: Mail) => ({ from, ...mail, subject: subjectOf(mail.subject) });
  if (config.smtpUrl !== undefined) {
    const limits = {
      connectionTimeout: SMTP_TIMEOUT_MS,
      greetingTimeout: SMTP_TIMEOUT_MS,
      socketTimeout: SMTP_TIMEOUT_MS,
    };
    const transport = createTransport({ url: config.smtpUrl, ...limits });
    return async (mail) => {
      // They close the connection, too.
      const ends = [AbortSignal.timeout(timeLimitMs), signal()].filter((end) => end !== null);
      await transport.sendMail({ ...toSend(mail), signal: AbortSignal.any(ends) }).catch(refuse);
    };
  }
  const transport = createTransport({ streamTransport: true, buffer: true });
  return async (mail) => {
    const { message } = await transport.sendMail(toSend(mail));
    const file = path.resolve(config.mailDir, `${newRequestId()}.eml`);
    await mkdir(config.mailDir, { recursive: true, mode: 0o700 });
    // Rename the complete file, so that a program that watches the folder never reads half a mail.
    await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 });
    await rename(`${file}.part`, file);
    logger.info({ file }, 'mail written');
  };
}

/** Returns a mailer that also tells what became of each mail. */
export function observeMails(send: Mailer, observe: (result: MailResult) => void): Mailer {
  return async (mail) => {
    try {
      await send(mail);
    } catch (error) {
      observe(error instanceof MailNotTaken ? error.failure : 'failed');
      throw error;
    }
    observe('taken');
  };
}

/** What nodemailer tells of a failure. */
interface SmtpFault extends Error {
  readonly code?: string;
  /** The command of SMTP that failed. */
  readonly command?: string;
  readonly responseCode?: number;
  /** What the server said, which may name the recipient. */
  readonly response?: string;
}

/**
 * Throws an error with only the codes of the given one. A mail server's message names the
 * recipient, and the database keeps the last error of a job.
 */
function refuse(error: SmtpFault): never {
  const codes = [error.code, error.responseCode].filter(Boolean).join(' ');
  const message = `the mail server did not take it: ${codes || error.name}`;
  throw new MailNotTaken(message, failureOf(error));
}

/** It closes the connection, or its system has a problem (RFC 3463, X.3.X). */
const OF_THE_SERVER = /^421|^4\d\d[ -]4\.3\./;

/** Other commands, such as that of the sender, concern all mails. */
function failureOf({ command, responseCode = 0, response = '' }: SmtpFault): MailFailure {
  if ((command === 'RCPT TO' || command === 'DATA') && responseCode >= 500) return 'refused';
  const isDeferred = command === 'RCPT TO' && responseCode >= 400;
  return isDeferred && !OF_THE_SERVER.test(response) ? 'deferred' : 'failed';
}
