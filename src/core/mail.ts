/** A mail in plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends one mail; rejects when the server did not take it, so that the job is repeated. */
export type Mailer = (mail: Mail) => Promise<void>;
