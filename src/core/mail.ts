/** A mail in plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends a mail. Rejects if the mail server did not accept it, so that the job is retried. */
export type Mailer = (mail: Mail) => Promise<void>;
