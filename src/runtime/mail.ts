import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { newRequestId } from '../core/ids.ts';
import { MailNotTaken, subjectOf, type Mailer } from '../core/mail.ts';

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
      const subject = subjectOf(mail.subject);
      await transport
        .sendMail({ from, ...mail, subject, signal: AbortSignal.any(ends) })
        .catch(refuse);
    };
  }
  const transport = createTransport({ streamTransport: true, buffer: true });
  return async (mail) => {
    const { message } = await transport.sendMail({
      from,
      ...mail,
      subject: subjectOf(mail.subject),
    });
    const file = path.resolve(config.mailDir, `${newRequestId()}.eml`);
    await mkdir(config.mailDir, { recursive: true, mode: 0o700 });
    // Rename the complete file, so that a program that watches the folder never reads half a mail.
    await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 });
    await rename(`${file}.part`, file);
    logger.info({ file }, 'mail written');
  };
}

/** What nodemailer tells of a failure. */
interface SmtpFault extends Error {
  readonly code?: string;
  /** The command of SMTP that failed. */
  readonly command?: string;
  readonly responseCode?: number;
}

/**
 * Throws an error with only the codes of the given one. A mail server's message names the
 * recipient, and the database keeps the last error of a job.
 */
function refuse(error: SmtpFault): never {
  const codes = [error.code, error.responseCode].filter(Boolean).join(' ');
  const message = `the mail server did not take it: ${codes || error.name}`;
  throw new MailNotTaken(message, { isRefusal: isRefusal(error) });
}

/** Other commands, such as that of the sender, concern all mails. */
function isRefusal({ command, responseCode = 0 }: SmtpFault): boolean {
  return (command === 'RCPT TO' || command === 'DATA') && responseCode >= 500;
}
