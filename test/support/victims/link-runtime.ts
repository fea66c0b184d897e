/**
 * A computer whose server is reached over a link and directly: `node link-runtime.ts <cloud's url> <computer id> <device token>`.
 * Prints its own port, then `linked` each time it is; reads `report` and prints what nobody caught.
 */
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createHttpServer } from '../../../src/kit/http/server.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { signingKey } from '../../../src/kit/signing/signature.ts';
import { createDialer } from '../../../src/runtime-server/link/dialer.ts';

const [cloudUrl = '', computerId = '', deviceToken = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
const uncaught: string[] = [];
process.on('uncaughtException', (error) => uncaught.push(String(error.stack)));
process.on('unhandledRejection', (reason) => uncaught.push(String(reason)));

const block = Buffer.alloc(64 * 1024, 97);
const answer = Buffer.from(JSON.stringify({ ok: true }));
const server = createHttpServer((request, response) => {
  const [path, megabytes = '0'] = (request.url ?? '').split('?');
  if (path === '/big') {
    let left = Number(megabytes) * 16;
    response.writeHead(200, { 'content-length': left * block.length });
    const write = () => {
      while (left > 0) {
        left -= 1;
        if (!response.write(block)) {
          response.once('drain', write);
          return;
        }
      }
      response.end();
    };
    write();
  } else if (path === '/stream') {
    const timer = setInterval(() => response.write(block.subarray(0, 4096)), 2);
    response.on('close', () => clearInterval(timer)).on('error', () => {});
  } else if (request.method === 'POST') {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end(String(bytes))).on('error', () => {});
  } else {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
    response.end(answer);
  }
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
say(String((server.address() as AddressInfo).port));

const dialer = createDialer({
  home: () => ({ cloudUrl, computerId, key: signingKey(deviceToken) }),
  serve: { engine: (pipe) => void server.emit('connection', pipe), peer: (pipe) => void pipe.destroy() },
  linkToken: newToken,
  clock: systemClock,
  timers: systemTimers,
  random: () => 0.05,
  log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
});
dialer.onChange((linked) => linked && say('linked'));
dialer.start();
createInterface({ input: process.stdin }).on('line', () => say(JSON.stringify(uncaught)));
