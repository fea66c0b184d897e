/** `gantry agents attach` in a real terminal: what is drawn, what is typed, and that the terminal is given back. */
import headless from '@xterm/headless';
import { spawn as spawnPty } from 'node-pty';
import { expect, test } from 'vitest';
import { createPainter } from '../../src/cli/attach/draw.ts';
import { joinInputs, readTyped } from '../../src/cli/attach/typed.ts';
import type { PaneInput, Screen } from '../../src/contracts/factory/agent.ts';
import type { SseSink } from '../../src/kit/http/types.ts';
import { compileCache } from '../support/compile-cache.ts';
import { agent, at, onEnd, run, startEngine } from './support.ts';

const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname;

function screen(ansi: string, change: Partial<Screen> = {}): Screen {
  return { ansi, revision: 1, at, cols: 40, rows: 5, cursor: { x: 0, y: 0, visible: true }, ...change };
}

async function attach(options: readonly string[] = []) {
  const inputs: PaneInput[] = [];
  const sizes: unknown[] = [];
  let stream: SseSink | undefined;
  let slow: Promise<void> = Promise.resolve();
  const opened = Promise.withResolvers<void>();
  const engine = await startEngine({
    agents: [agent('web')],
    answers: {
      agentScreen: () => screen('first'),
      agentSize: ({ body }) => {
        sizes.push(body);
        return { ok: true, ...(body as { cols: number; rows: number }) };
      },
      agentInput: async ({ body }) => {
        inputs.push(body as PaneInput);
        await slow;
        return { ok: true };
      },
      agentStream: (_seen, sink) => {
        stream = sink;
        sink?.send({ event: 'screen', data: screen('\x1b[32mfirst\x1b[0m') });
        opened.resolve();
        return new Promise(() => {});
      },
    },
  });
  const terminal = new headless.Terminal({ cols: 40, rows: 8, allowProposedApi: true });
  const pty = spawnPty(process.execPath, [cli, 'agents', 'attach', 'web', ...options], {
    env: { ...engine.env, ...compileCache, HOME: process.env.HOME ?? '', TERM: 'xterm-256color' },
    cols: 40,
    rows: 8,
  });
  let raw = '';
  pty.onData((text) => {
    raw += text;
    terminal.write(text);
  });
  const exit = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  onEnd(async () => {
    try {
      process.kill(pty.pid, 'SIGKILL');
    } catch {
      // Ended, as it should.
    }
    await exit;
  });
  const rows = (): string[] =>
    Array.from({ length: 8 }, (_, index) => terminal.buffer.active.getLine(index)?.translateToString(true) ?? '');
  await opened.promise;
  const sees = (text: string) => expect.poll(() => rows().join('\n')).toContain(text);
  await sees('first');
  return {
    pty,
    exit,
    inputs,
    sizes,
    rows,
    sees,
    raw: () => raw,
    alternate: () => terminal.buffer.active.type === 'alternate',
    send: (event: string, data: unknown) => stream?.send({ event, data }),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      slow = promise;
      return resolve;
    },
  };
}

test('screens are drawn as they come, in the pane’s size, with the bot’s name and the way out below', async () => {
  const { send, sees, rows, sizes, alternate } = await attach();
  await sees('web@demo · attached · Ctrl-] detaches');
  expect(alternate()).toBe(true);
  expect(sizes[0]).toEqual({ cols: 40, rows: 7 });
  send('screen', screen('one\r\ntwo', { revision: 2 }));
  await sees('two');
  expect(rows().slice(0, 3)).toEqual(['one', 'two', '']);
});

test('typing arrives in order, held back while a request is under way and then joined', async () => {
  const { pty, inputs, hold } = await attach();
  const release = hold();
  pty.write('l');
  await expect.poll(() => inputs.length).toBe(1);
  for (const letter of 's --color') pty.write(letter);
  pty.write('\r');
  // Time in which a second request would come, if it did not wait for the first.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(inputs).toEqual([{ text: 'l' }]);
  release();
  await expect.poll(() => inputs.map((one) => one.text).join('')).toBe('ls --color\r');
  expect(inputs.length).toBeLessThan(6);
});

test('Ctrl-C goes to the bot; Ctrl-] detaches, gives the terminal back and ends with 0', async () => {
  const { pty, inputs, exit, alternate, raw } = await attach();
  pty.write('\x03');
  await expect.poll(() => inputs).toEqual([{ text: '\x03' }]);
  pty.write('\x1d');
  expect(await exit).toBe(0);
  await expect.poll(alternate).toBe(false);
  expect(raw()).toContain('\x1b[?25h');
  expect(raw()).toContain('Detached from web@demo');
});

test('arrows are sent as keys, so that the pane’s program gets them as it asked', async () => {
  const { pty, inputs } = await attach();
  pty.write('a\x1b[A\x1b[B');
  await expect.poll(() => inputs).toEqual([{ text: 'a', keys: ['Up', 'Down'] }]);
});

test('a pane that closes ends it with the reason', async () => {
  const { send, exit, raw, alternate } = await attach();
  send('gone', { reason: 'the program ended with 0' });
  expect(await exit).toBe(0);
  await expect.poll(raw).toContain('the program ended with 0');
  await expect.poll(alternate).toBe(false);
});

test.each(['SIGTERM', 'SIGHUP'] as const)('%s gives the terminal back', async (signal) => {
  const { pty, exit, alternate } = await attach();
  process.kill(pty.pid, signal);
  expect(await exit).toBe(0);
  await expect.poll(alternate).toBe(false);
});

test('--watch sends nothing and leaves the size alone', async () => {
  const { pty, inputs, sizes, exit, sees } = await attach(['--watch']);
  await sees('watching');
  pty.write('rm -rf\r');
  pty.write('\x1d');
  expect(await exit).toBe(0);
  expect(inputs).toEqual([]);
  expect(sizes).toEqual([]);
});

test('without a terminal, or with --json, it is usage and names what to use', async () => {
  const { env } = await startEngine({ agents: [agent('web')] });
  for (const argv of [
    ['agents', 'attach', 'web'],
    ['agents', 'attach', 'web', '--json'],
  ]) {
    const ran = await run(env, argv);
    expect(ran.code).toBe(64);
    expect(ran.out + ran.err).toContain('agents screen');
  }
});

test('a pane larger than the window is cut, never wrapped, and the cursor’s row stays in sight', async () => {
  const painter = createPainter();
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index} ${'x'.repeat(100)}`).join('\r\n');
  const big = screen(lines, { cols: 120, rows: 30, cursor: { x: 3, y: 29, visible: true } });
  const terminal = new headless.Terminal({ cols: 20, rows: 6, allowProposedApi: true });
  await new Promise<void>((resolve) => {
    void painter.paint(big, { cols: 20, rows: 6 }, 'status').then((bytes) => terminal.write(bytes, resolve));
  });
  const row = (index: number) => terminal.buffer.active.getLine(index)?.translateToString(true);
  expect(terminal.buffer.active.baseY).toBe(0);
  expect(row(0)).toBe('line 25 xxxxxxxxxxxx');
  expect(row(4)).toBe('line 29 xxxxxxxxxxxx');
  expect(row(5)?.trimEnd()).toBe('status');
  expect([terminal.buffer.active.cursorX, terminal.buffer.active.cursorY]).toEqual([3, 4]);
});

test('only rows that changed are drawn again', async () => {
  const painter = createPainter();
  const window = { cols: 20, rows: 4 };
  await painter.paint(screen('one\r\ntwo'), window, 's');
  const bytes = await painter.paint(screen('one\r\n2'), window, 's');
  expect(bytes).not.toContain('one');
  expect(bytes).toContain('2');
});

test.each([
  ['abc', [{ text: 'abc' }], false],
  ['a\x1b[Ab', [{ text: 'a', keys: ['Up'] }, { text: 'b' }], false],
  ['\x1b[A\x1b[3~', [{ keys: ['Up', 'Delete'] }], false],
  ['\x1b', [{ text: '\x1b' }], false],
  ['ab\x1dcd', [{ text: 'ab' }], true],
  ['\x1b[200~x\x1b[201~', [{ text: '\x1b[200~x\x1b[201~' }], false],
] as const)('%j is read as %j', (typed, inputs, letGo) => {
  expect(readTyped(typed)).toEqual({ inputs, letGo });
});

test('what waits is joined without changing its order', () => {
  expect(
    joinInputs([{ text: 'a' }, { text: 'b', keys: ['Up'] }, { keys: ['Down'] }, { text: 'c' }, { text: 'd' }]),
  ).toEqual([{ text: 'ab', keys: ['Up', 'Down'] }, { text: 'cd' }]);
});
