import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadUnixPty, type PtySink } from '../../../src/programs/pane-host/pty.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { freshId, readAll, sleep, spec, testHost, testPane, until } from './support.ts';

test('random bytes come back from the journal as the program printed them', async () => {
  const p = freshId();
  const { connection } = await testHost();
  const bytes = randomBytes(3_000_000);
  const file = join(scratchFolder(), 'random');
  writeFileSync(file, bytes);
  await connection.request({ op: 'create', spec: spec(p, `stty raw -echo; cat ${file}; sleep 60`) });
  await until('all is printed', async () => {
    const { ok } = await connection.request({ op: 'read', pane: p, offset: 0, max: 0 });
    return ok.end >= bytes.length;
  });
  const found = await readAll(connection, p);
  // Random bytes hold questions to a terminal; the answers go to the program's input, never into its output.
  expect(found.equals(bytes)).toBe(true);
});

test('a character split over two reads is one character on the screen and the same bytes in the journal', async () => {
  const p = freshId();
  const pane = await testPane(
    spec(p, "printf '\\xe2\\x82'; sleep 0.2; printf '\\xac|\\xf0\\x9f'; sleep 0.2; printf '\\x90\\xb8'; sleep 60"),
  );
  await until('all is printed', () => pane.journal.end === 8);
  expect(pane.capture(10).text).toBe('€|🐸');
  expect(Buffer.from(pane.journal.read(0, 100).bytes).toString('utf8')).toBe('€|🐸');
});

test.each([
  ['an idle', 0],
  ['a busy', 1500],
])(
  'a program that exits while its terminal is paused in %s pane host loses no byte, and its end is told after the last one',
  async (_, busyMs) => {
    const room = Buffer.alloc(8192);
    const order: string[] = [];
    let taken = 0;
    const ended = Promise.withResolvers<{ code: number | null; signal: string | null }>();
    const sink: PtySink = {
      room: () => room,
      took(bytes) {
        taken += bytes;
        order.push('bytes');
      },
      ended(code, signal) {
        order.push('end');
        ended.resolve({ code, signal });
      },
    };
    const script = "stty -onlcr; sleep 0.1; head -c 3000 /dev/zero | tr '\\0' x; exit 7";
    const options = {
      command: ['bash', '-c', script],
      cwd: '/tmp',
      env: { PATH: process.env.PATH ?? '' },
      cols: 80,
      rows: 24,
    };
    const pty = loadUnixPty()(options, sink);
    // Before it prints: it waits 100 ms.
    await sleep(20);
    pty.pause();
    // A busy pane host goes on in one turn with the end of this wait and with what it planned for a second after the exit.
    setTimeout(() => {
      const until = performance.now() + busyMs;
      while (performance.now() < until);
    }, 500);
    // The program has exited, and what was planned for then is over: nobody may have read what the paused terminal holds.
    await sleep(1000);
    expect(taken).toBe(0);
    pty.resume();
    expect(await ended.promise).toEqual({ code: 7, signal: null });
    expect(taken).toBe(3000);
    expect(order.at(-1)).toBe('end');
    expect(order.filter((step) => step === 'end')).toHaveLength(1);
  },
);

test('the last words of a program that floods its terminal and exits are in the journal of the closed pane', async () => {
  const p = freshId();
  const { connection, events } = await testHost();
  await connection.request({ op: 'observe', seen: {} });
  await connection.request({ op: 'create', spec: spec(p, 'stty -onlcr; seq 1 200000; echo the last words; exit 3') });
  const exit = await until('it ended', () => events.map(({ event }) => event).find((event) => event.ev === 'exit'));
  const text = (await readAll(connection, p)).toString('utf8');
  expect(text).toBe(`${Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('')}the last words\n`);
  expect(exit).toMatchObject({ pane: p, info: { alive: false, exitCode: 3, exitSignal: null, offset: text.length } });
});

test('a program ended by a signal reports the signal and no exit code', async () => {
  const p = freshId();
  const pane = await testPane(spec(p, 'kill -KILL $$'));
  await pane.closed;
  expect(pane.info()).toMatchObject({ alive: false, exitCode: null, exitSignal: 'SIGKILL' });
});

test('input reaches the program in the order in which it was written, whatever its size', async () => {
  const p = freshId();
  const bytes = randomBytes(300_000).toString('hex');
  const pane = await testPane(spec(p, `stty raw -echo; echo ready; head -c ${bytes.length} | sha256sum; sleep 60`));
  await until('it reads', () => pane.capture(5).text.includes('ready'));
  for (let at = 0; at < bytes.length; at += 7001) pane.pty.write(Buffer.from(bytes.slice(at, at + 7001)));
  const wanted = createHash('sha256').update(bytes).digest('hex');
  await until('the sum is printed', () => pane.capture(5).text.includes(wanted));
  expect(pane.pty.unwritten).toBe(0);
});
