import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScratch, eventually, gateOpen, outgoing, reaches, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;
beforeEach(() => {
  scratch = createScratch();
});
afterEach(() => scratch.close());

test('a quiet program gets the text with its sender, and the delivery is best effort without a witness', async () => {
  const bot = await scratch.up({ harness: 'custom', command: 'cat > got.txt' });
  expect(bot.gate().open).toBe(false);
  await gateOpen(bot);
  expect(bot.state()).toMatchObject({ state: 'idle', reason: 'quiet; this program does not report its state' });
  expect(await bot.deliver(outgoing('!ls'))).toMatchObject({ state: 'best_effort', evidence: null });
  const got = () => readFileSync(join(scratch.work, 'got.txt'), 'utf8');
  await eventually(() => got().endsWith('!ls\n'));
  expect(got()).toMatch(/^From owner \(message delivery_\d+\):\n!ls\n$/);
});

test('a program that prints is working and gets nothing', async () => {
  const bot = await scratch.up({ harness: 'custom', command: 'while :; do echo x; sleep 0.1; done' });
  await reaches(bot, 'working');
  expect(await bot.deliver(outgoing('x'))).toMatchObject({ state: 'held' });
});

test('shell marks and progress are believed over output alone', async () => {
  writeFileSync(
    join(scratch.work, 'marks.sh'),
    "printf '\\e]133;A\\a'; sleep 0.3; printf '\\e]133;C\\a'; sleep 2; printf '\\e]133;A\\a'; sleep 9\n",
  );
  const bot = await scratch.up({ harness: 'custom', command: 'bash marks.sh' });
  const states: string[] = [];
  bot.onState(({ state, reason }) => states.push(`${state} ${reason}`));
  await eventually(
    () => states.at(-1)?.startsWith('idle') === true && states.some((state) => state.startsWith('working')),
  );
  // Two seconds without output lie between: it stays at work until its own mark.
  expect(states.slice(-2)).toEqual(['working null', 'idle null']);
});

test('a line that a line-reading program would lose is refused, not cut', async () => {
  const bot = await scratch.up({ harness: 'custom', command: 'cat > got.txt' });
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('x'.repeat(5000)))).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining('5000 bytes'),
  });
});

test('a program that ends with an error is failed with its code', async () => {
  const bot = await scratch.up({ harness: 'custom', command: 'sleep 0.2; exit 4' });
  await reaches(bot, 'failed');
  expect(bot.state().reason).toBe('it ended with exit code 4');
});

test('arrows follow the mode that the program asked for', async () => {
  const bot = await scratch.up({ harness: 'custom', command: "printf '\\e[?1h'; cat > got.txt" });
  await gateOpen(bot);
  await bot.input({ text: 'a', keys: ['Up', 'C-Up'] });
  expect(scratch.panes.written(bot.paneId)).toBe('a\x1bOA\x1b[1;5A');
});

test('a paste is framed for a program that asked for it, plain for another, and cannot end its own frame', async () => {
  const asks = await scratch.up({ harness: 'custom', command: "printf '\\e[?2004h'; cat > got.txt" });
  await gateOpen(asks);
  await asks.input({ text: 'one\rtwo\x1b[201~rm', paste: true });
  expect(scratch.panes.written(asks.paneId)).toBe('\x1b[200~one\rtwo[201~rm\x1b[201~');
  const plain = await scratch.up({ harness: 'custom', command: 'cat > got.txt' });
  await gateOpen(plain);
  await plain.input({ text: 'one\rtwo', keys: ['Enter'], paste: true });
  expect(scratch.panes.written(plain.paneId)).toBe('one\rtwo\r');
});

test('input without text and keys, and an unknown key, are usage and type nothing', async () => {
  const bot = await scratch.up({ harness: 'custom', command: 'cat > got.txt' });
  await expect(bot.input({})).rejects.toMatchObject({ code: 'usage' });
  await expect(bot.input({ text: 'abc', keys: ['Nope'] })).rejects.toMatchObject({ code: 'usage' });
  expect(scratch.panes.written(bot.paneId)).toBe('');
  await eventually(() => existsSync(join(scratch.work, 'got.txt')));
  await bot.input({ text: 'abc', keys: ['Enter'] });
  await eventually(() => readFileSync(join(scratch.work, 'got.txt'), 'utf8') === 'abc\n');
});
