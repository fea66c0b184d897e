/**
 * Many computers in one program, each with a link of its own: `node --expose-gc link-computers.ts <cloud's url> <device token> <computers>`. Prints `linked` once all
 * are; answers each line on its input with what it holds.
 */
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { signingKey } from '../../../src/kit/signing/signature.ts';
import { createDialer } from '../../../src/runtime-server/link/dialer.ts';

/** Links that are being made at one time. */
const atOnce = 50;

const [cloudUrl = '', token = '', computers = '0'] = process.argv.slice(2);
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
const server = createServer((_request, response) => response.end('{"ok":true}'));
const key = signingKey(token);

function link(n: number): Promise<void> {
  const dialer = createDialer({
    home: () => ({ cloudUrl, computerId: `computer_${n}`, key }),
    serve: { engine: (pipe) => void server.emit('connection', pipe), peer: (pipe) => void pipe.destroy() },
    linkToken: newToken,
    clock: systemClock,
    timers: systemTimers,
    random: () => 0.5,
    log: { info: () => {}, warn: () => {} },
  });
  return new Promise((resolve) => {
    dialer.onChange((linked) => linked && resolve());
    dialer.start();
  });
}

createInterface({ input: process.stdin })
  .on('line', () => {
    for (let round = 0; round < 2; round += 1) (globalThis as { gc?: () => void }).gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    say({ heapUsed, external, rss, files: readdirSync('/proc/self/fd').length });
  })
  .on('close', () => process.exit());
say(process.pid);
let next = 0;
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    while (next < Number(computers)) await link(next++);
  }),
);
say('linked');
