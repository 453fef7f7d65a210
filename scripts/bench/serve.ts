// The servers of the benchmarks: those that receive in the process of a benchmark, and those that
// do what they are told in a process of their own.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Lets a server of this process listen. Disposing `stack` ends it. Resolves with its URL. */
export async function listen(stack: AsyncDisposableStack, server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves PORT. `POST /` does the work that its body names, and responds with what came of it. */
export function serve(work: (wanted: unknown) => Promise<unknown>): void {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const isPost = request.method === 'POST';
      const done = isPost ? await work(JSON.parse(await text(request))) : undefined;
      response.end(JSON.stringify(done));
    };
    answer().catch((error: unknown) => {
      console.error(error);
      response.writeHead(500).end();
    });
  });
  server.listen(Number(process.env['PORT']), '127.0.0.1');
}
