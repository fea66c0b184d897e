/** Requests written byte by byte, as no client library would. */
import { connect } from 'node:net';

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Header `host` and `content-length` are right unless they are given. */
export function sendRaw(port: number, { method = 'POST', path = '/mcp/server', headers = {}, body = '' }: RawRequest) {
  const bytes = Buffer.from(body);
  const all = { host: `127.0.0.1:${port}`, connection: 'close', 'content-length': String(bytes.length), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise<RawAnswer>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => {
      socket.destroy();
      resolve(parse(Buffer.concat(chunks).toString()));
    });
    socket.write(Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'), bytes]));
  });
}

function parse(answer: string): RawAnswer {
  const end = answer.indexOf('\r\n\r\n');
  const [first = '', ...lines] = answer.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(first.split(' ')[1]), headers, text: answer.slice(end + 4) };
}
