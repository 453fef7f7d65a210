import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { atEnd } from './at-end.ts';

/** A running mail server. */
export interface MailServer {
  readonly url: string;
  /** The accepted mails, oldest first, one entry per recipient. `text` is decoded. */
  readonly received: { readonly to: string; readonly text: string }[];
  /** Ends all connections and stops. */
  stop(): Promise<void>;
}

/**
 * Starts a real mail server, which is stopped when the test file ends. It calls `answer` with the
 * recipient before it accepts a mail; an error refuses the mail. `refuse` may refuse the commands
 * before that; it is called with their address.
 */
export async function startMailServer(
  answer: (to: string) => Promise<Error | undefined> = async () => undefined,
  refuse: (command: 'MAIL FROM' | 'RCPT TO', address: string) => Error | undefined = () =>
    undefined,
): Promise<MailServer> {
  const received: { to: string; text: string }[] = [];
  const smtp = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onMailFrom: ({ address }, _session, done) => done(refuse('MAIL FROM', address)),
    onRcptTo: ({ address }, _session, done) => done(refuse('RCPT TO', address)),
    onData: (stream, session, done) => {
      const recipients = session.envelope.rcptTo.map(({ address }) => address);
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        void (async () => {
          const refusal = await answer(recipients[0] ?? '');
          const text = decode(Buffer.concat(chunks).toString());
          if (refusal === undefined) received.push(...recipients.map((to) => ({ to, text })));
          done(refusal);
        })();
      });
    },
  });
  smtp.on('error', () => undefined);
  // The package greets each connection after 100 ms, to find clients that talk too soon.
  const connect = smtp.connect.bind(smtp);
  smtp.connect = (...socket) => {
    connect(...socket);
    for (const connection of smtp.connections) {
      connection.connectionReady();
      connection.connectionReady = () => undefined;
    }
  };
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as AddressInfo;
  const server: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    received,
    stop: async () => {
      if (stopped()) await new Promise<void>((done) => smtp.close(() => done()));
    },
  };
  const stopped = atEnd(() => server.stop());
  return server;
}

/**
 * Starts a mail server that never ends one answer: it sends a further line of it every 20 ms. `at`:
 * the command, or the end of the mail. It is stopped when the test file ends.
 */
export async function startDrippingMailServer(
  at: 'EHLO' | 'RCPT' | '.',
): Promise<{ readonly url: string; readonly open: ReadonlySet<Socket> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket
      .on('error', () => undefined)
      .on('close', () => {
        clearInterval(timer);
        open.delete(socket);
      });
    socket.write('220 ready\r\n');
    let inMail = false;
    socket.on('data', (data) => {
      for (const line of data.toString().split('\r\n')) {
        if (line === '' || (inMail && line !== '.')) continue;
        if (line.startsWith(at)) timer ??= setInterval(() => socket.write('250-still\r\n'), 20);
        else socket.write(line === 'DATA' ? '354 go\r\n' : '250 ok\r\n');
        inMail = line === 'DATA';
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, open };
}

/** Decodes a body in base64, and everything in quoted-printable. */
function decode(mail: string): string {
  const [head = '', ...rest] = mail.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  const isBase64 = /^content-transfer-encoding: base64/im.test(head);
  return [unquote(head), isBase64 ? Buffer.from(body, 'base64').toString() : unquote(body)].join(
    '\r\n\r\n',
  );
}

function unquote(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_match, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
