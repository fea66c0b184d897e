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

const box = (...rows: string[]) => [
  `╭${'─'.repeat(70)}╮`,
  ...rows.map((row) => `│ ${row.padEnd(68)} │`),
  `╰${'─'.repeat(70)}╯`,
];
const choices = (asked: string) =>
  box(
    asked,
    '',
    '❯ 1. Yes',
    '  2. Yes, and do not ask again',
    '  3. No (Esc)',
    '',
    '↑/↓ to navigate · enter to select · esc to cancel',
  );

/** The first two as GitHub Copilot CLI 1.0.102 draws them. */
test.each([
  ['Copilot’s question', choices('Do you want to run this command?'), 'asks: Do you want to run this command?'],
  ['a trust screen', choices('Do you trust the files in this folder?'), 'asks whether the folder is trusted'],
  ['a numbered choice', ['Pick one', '  1) red', '> 2) blue'], 'a dialog waits for an answer'],
  [
    'y/n',
    ['After this operation 3 MB will be used.', 'Do you want to continue? [Y/n] '],
    'asks: Do you want to continue?',
  ],
  ['yes/no', ['Continue connecting (yes/no/[fingerprint])? '], 'asks: Continue connecting'],
  [
    'enter to select',
    ['Which account?', '  * first', '    second', 'Press enter to select'],
    'a dialog waits for an answer',
  ],
  ['a password', ['[sudo] password for me: '], 'asks for a password'],
])('%s needs a person, and no message is typed into it', async (_, rows, reason) => {
  writeFileSync(join(scratch.work, 'screen'), rows.join('\n'));
  const bot = await scratch.up({ harness: 'custom', command: "printf '\\e[?2004h'; cat screen; cat > got.txt" });
  await reaches(bot, 'needs_you');
  expect(bot.state().reason).toBe(reason);
  // Longer than the second of silence after which a program counts as quiet.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(bot.state().state).toBe('needs_you');
  expect(await bot.deliver(outgoing('yes'))).toMatchObject({ state: 'held' });
  expect(scratch.panes.written(bot.paneId)).toBe('');
});

test.each([
  ['a list', ['Steps:', '1. one', '2. two', '', '> ']],
  ['a quoted line', ['> 1. quoted', 'and what was said of it', '> ']],
  ['a question that was answered', ['Continue? [Y/n] y', 'Done.', '$ ']],
])('%s is no question', async (_, rows) => {
  writeFileSync(join(scratch.work, 'screen'), rows.join('\n'));
  const bot = await scratch.up({ harness: 'custom', command: 'cat screen; cat > got.txt' });
  await gateOpen(bot);
  expect(bot.state().state).toBe('idle');
});

test('a question that was answered lets messages in again', async () => {
  const ask = "printf 'Go on? [y/N] '; read answer; clear; echo done; cat > got.txt";
  const bot = await scratch.up({ harness: 'custom', command: ask });
  await reaches(bot, 'needs_you');
  await bot.input({ text: 'y', keys: ['Enter'] });
  await gateOpen(bot);
  expect(bot.state().state).toBe('idle');
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({ state: 'best_effort' });
});

test('a question that comes up under a paste gets no Enter', async () => {
  const program =
    "process.stdin.setRawMode(true);process.stdout.write('\\x1b[?2004hready');process.stdin.once('data',()=>process.stdout.write('\\r\\nRun it? (y/n) '))";
  writeFileSync(join(scratch.work, 'program.mjs'), program.replaceAll('\\\\', '\\'));
  const bot = await scratch.up({ harness: 'custom', command: `'${process.execPath}' program.mjs` });
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('hello'))).toMatchObject({
    state: 'unconfirmed',
    detail: 'a dialog opened; Enter was not pressed',
  });
  expect(scratch.panes.written(bot.paneId)).not.toContain('\r');
});

test.each([
  ['takes pastes', "printf '\\e[?2004hready'; "],
  ['reads lines', ''],
])(
  'what the screen does not show is unconfirmed and not entered, in a program that %s; it waits for a person then',
  async (_, asks) => {
    const bot = await scratch.up({ harness: 'custom', command: `stty -echo; ${asks}cat > got.txt` });
    await gateOpen(bot);
    const message = outgoing('say hello');
    expect(await bot.deliver(message)).toMatchObject({
      state: 'unconfirmed',
      detail: 'the screen did not show the text; Enter was not pressed',
    });
    expect(scratch.panes.written(bot.paneId)).not.toContain('\r');
    expect(JSON.stringify(bot.gate())).toContain(`the text of message ${message.deliveryId}`);
    await bot.input({ keys: ['C-u'] });
    await gateOpen(bot);
  },
);

test('the sum of what a program with a composer shows is the text: in a box, wrapped, with emoji', async () => {
  const program = [
    "let text='';process.stdin.setRawMode(true);",
    "const draw=()=>process.stdout.write('\\x1b[2J\\x1b[H'+(text||'> ').match(/[^]{1,40}/gu).map((r)=>'┃ '+r.replace(/\\n/g,'\\r\\n┃ ')).join('\\r\\n'));",
    "process.stdout.write('\\x1b[?2004h');draw();",
    "process.stdin.on('data',(d)=>{for(const c of String(d).replace(/\\x1b\\[20[01]~/g,''))if(c==='\\r'){process.stdout.write('\\x1b[2J\\x1b[Htook '+text.length)}else text+=c;if(!String(d).includes('\\r'))draw()});",
  ].join('\n');
  writeFileSync(join(scratch.work, 'program.mjs'), program);
  const bot = await scratch.up({ harness: 'custom', command: `'${process.execPath}' program.mjs` });
  await gateOpen(bot);
  expect(await bot.deliver(outgoing(`one ✅ two\n${'word '.repeat(30)}`))).toMatchObject({ state: 'best_effort' });
  await eventually(() => bot.explain().bottom.join('').includes('took'));
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
