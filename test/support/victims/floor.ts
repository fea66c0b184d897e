/**
 * `floor.ts <kind> <folder>`: the plainest server that does what one of ours does, so that a figure in µs of CPU can say how fast its machine
 * is (`../bench/floor.ts`). It reads JSON that was posted and answers `{}`. `row`: keeps it first, in a row of SQLite at FULL, those that
 * come together in one commit; `ed25519` and `hmac` look at a signature over the bytes before that; `pass` keeps nothing and lets a program
 * behind a kept connection answer. Says `{"port","pid","text"}`, `text` being a whole request that it takes.
 *
 * Nothing of Gantry may come in here: what Gantry gets slower by must not make this slower too.
 */
import { createHmac, generateKeyPairSync, sign, verify } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';

const [kind = '', folder = ''] = process.argv.slice(2);
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const secret = Buffer.alloc(32, 7);
const mac = (body: Buffer) => createHmac('sha256', secret).update(body).digest('base64');

function isSigned(request: IncomingMessage, body: Buffer): boolean {
  const signature = String(request.headers['x-signature']);
  if (kind === 'ed25519') return verify(null, body, publicKey, Buffer.from(signature, 'base64'));
  return kind !== 'hmac' || mac(body) === signature;
}

interface Waiting {
  readonly text: string;
  readonly done: () => void;
}

/** Those of one turn of the loop share a commit. */
function openRows(): (text: string) => Promise<void> {
  const database = new Database(join(folder, 'floor.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE posted (id INTEGER PRIMARY KEY, at INTEGER, text TEXT) STRICT');
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')];
  const insert = database.prepare('INSERT INTO posted (at, text) VALUES (?, ?)');
  let queue: Waiting[] = [];
  const flush = () => {
    const group = queue;
    queue = [];
    begin.run();
    for (const { text } of group) insert.run(Date.now(), text);
    commit.run();
    for (const { done } of group) done();
  };
  return (text) =>
    new Promise((done) => {
      if (queue.push({ text, done }) === 1) setImmediate(flush);
    });
}

/** A line there and a line back for each, in their order, over one connection to a program that says back what it hears. */
function openPassing(): (text: string) => Promise<void> {
  const waiting: (() => void)[] = [];
  let socket: Socket;
  const echo = createTcpServer((peer) => peer.pipe(peer)).listen(0, '127.0.0.1', () => {
    socket = connect({ port: (echo.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
    socket.setEncoding('utf8');
    let got = '';
    socket.on('data', (part: string) => {
      const lines = (got + part).split('\n');
      got = lines.pop() ?? '';
      for (const line of lines) {
        JSON.parse(line);
        waiting.shift()?.();
      }
    });
  });
  return (text) =>
    new Promise((done) => {
      waiting.push(done);
      socket.write(`${text}\n`);
    });
}

const keep = kind === 'pass' ? openPassing() : openRows();

async function take(request: IncomingMessage): Promise<number> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  if (!isSigned(request, body)) return 401;
  await keep(JSON.stringify(JSON.parse(body.toString('utf8'))));
  return 200;
}

const server = createServer((request, response) => {
  void take(request).then((status) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': 2 });
    response.end('{}');
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const body = Buffer.from(
    JSON.stringify({ id: 'event-1', type: 'message.received', text: 'Is it ready? '.repeat(30) }),
  );
  const signature = kind === 'ed25519' ? sign(null, body, privateKey).toString('base64') : mac(body);
  const head = [
    'POST /posted HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    `x-signature: ${signature}`,
  ];
  const text = `${head.join('\r\n')}\r\n\r\n${body}`;
  process.stdout.write(`${JSON.stringify({ port, pid: process.pid, text })}\n`);
});
