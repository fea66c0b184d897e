import { expect, test } from 'vitest';
import { createEmulator, type Emulator, loadEmulatorParts } from '../../../src/programs/pane-host/emulator.ts';
import type { RowMemories } from '../../../src/programs/pane-host/row-memory.ts';
import { seededRandom } from '../../support/kill-loop.ts';

const parts = await loadEmulatorParts();
/** Every row in memory of its own, as the terminal makes it. */
const apart: RowMemories = { ...parts.rows, during: (_, work) => work() };

const start = (rows: RowMemories, scrollback: number): Emulator =>
  createEmulator({ ...parts, rows }, { cols: 40, rows: 8, scrollback, onReply: () => {}, onOsc: () => {} });

const all = (emulator: Emulator): string[] => [
  emulator.snapshot(),
  emulator.screen(),
  emulator.scrollback(undefined, 1000).ansi,
  JSON.stringify(emulator.cursor()),
];

test.each([1, 2, 3, 4, 5])(
  'rows that lie together hold what rows apart hold, through any text and any size (%i)',
  (seed) => {
    const random = seededRandom(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const both = [start(parts.rows, 50), start(apart, 50)];
    const texts = [
      'a short line\r\n',
      `${'a line that is wrapped '.repeat(6)}\r\n`,
      '\x1b[41mcoloured to its end\x1b[K\x1b[0m\r\n',
      'é漢字👩‍👩‍👧 e\u0301\r\n',
      '\x1b[4:3munderlined\x1b[0m\x1b]8;;https://example.com\x07link\x1b]8;;\x07\r\n',
      '\x1b[?1049h\x1b[2J\x1b[5;5Hother screen',
      '\x1b[?1049l',
      '\x1b[2;6r\x1b[6;1H\n\n\n\x1b[r',
      '\x1b[3L\x1b[2M\x1b[4@\x1b[2P',
      '\x1b[H\x1b[3J',
    ];
    for (let step = 0; step < 400; step += 1) {
      if (random() < 0.08) {
        const [cols, rows] = [pick([2, 17, 40, 41, 80, 200]), pick([1, 5, 8, 30])];
        for (const emulator of both) emulator.resize(cols, rows);
      } else {
        const bytes = Buffer.from(pick(texts));
        for (const emulator of both) emulator.write(bytes);
      }
      if (step % 20 === 0) expect(all(both[0] as Emulator)).toEqual(all(both[1] as Emulator));
    }
    const frozen = (both[0] as Emulator).freeze(new Uint8Array(0));
    expect(frozen).not.toBeNull();
    for (const emulator of both) emulator.dispose();
  },
);

test('a terminal with a thousand rows takes few pieces of memory, and no other has rows in them', () => {
  const line = Buffer.from(`${'x'.repeat(30)}\r\n`.repeat(1200));
  const buffersOf = (rows: RowMemories): Set<ArrayBuffer> => {
    const made: ArrayBuffer[] = [];
    const spied: RowMemories = {
      ...rows,
      create() {
        const memory = rows.create();
        return {
          take(words) {
            const taken = memory.take(words);
            made.push(taken.buffer);
            return taken;
          },
        };
      },
    };
    start(spied, 1000).write(line);
    expect(made.length).toBeGreaterThan(900);
    return new Set(made);
  };
  const [one, other] = [buffersOf(parts.rows), buffersOf(parts.rows)];
  expect(one.size).toBeLessThan(20);
  expect([...one].filter((buffer) => other.has(buffer))).toEqual([]);
});
