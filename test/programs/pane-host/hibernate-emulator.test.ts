import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createEmulator, type Emulator, loadEmulatorParts } from '../../../src/programs/pane-host/emulator.ts';
import { frozenBy } from '../../../src/programs/pane-host/frozen.ts';

const parts = await loadEmulatorParts();
const recordings = new URL('../../data/tui/claude/', import.meta.url);
const size = { cols: 120, rows: 40, scrollback: 200 };

function emulator(frozen?: Uint8Array, of = size): { made: Emulator; told: string[] } {
  const told: string[] = [];
  const made = createEmulator(parts, {
    ...of,
    onReply: (text) => void told.push(`reply ${text}`),
    onOsc: (code, text) => void told.push(`${code} ${text}`),
    ...(frozen && { frozen }),
  });
  return { made, told };
}

function looks(made: Emulator): unknown {
  return {
    screen: made.screen(),
    cursor: made.cursor(),
    facts: made.facts(),
    drawing: made.drawing(),
    text: made.lastLines(10_000),
    scrollback: made.scrollback(undefined, 10_000),
    snapshot: made.snapshot(),
  };
}

/** Bytes through one emulator that is never frozen, and through one that is frozen and thawed at each of `points`. */
function compare(bytes: Buffer, points: readonly number[], of = size): { frozenTimes: number } {
  const twin = emulator(undefined, of);
  let own = emulator(undefined, of);
  const told: string[] = [];
  let at = 0;
  let frozenTimes = 0;
  for (const point of [...points, bytes.length]) {
    twin.made.write(bytes.subarray(at, point));
    own.made.write(bytes.subarray(at, point));
    at = point;
    const frozen = own.made.freeze(bytes.subarray(Math.max(0, at - 65_536), at));
    if (frozen === null) continue;
    frozenTimes++;
    told.push(...own.told);
    own.made.dispose();
    own = emulator(frozen, of);
    expect(looks(own.made)).toEqual(looks(twin.made));
  }
  expect(told.concat(own.told)).toEqual(twin.told);
  // What comes later meets the same terminal: also at another size.
  for (const each of [twin, own]) {
    each.made.resize(of.cols - 17, of.rows - 5);
    each.made.write(Buffer.from('\x1b8after\r\n\ttabs\x1b[999;999Hcorner\r\n\n\n'));
    each.made.resize(of.cols + 9, of.rows + 3);
  }
  expect(looks(own.made)).toEqual(looks(twin.made));
  return { frozenTimes };
}

/** The same numbers in each run. */
function pointsIn(length: number, count: number): number[] {
  let seed = 7;
  const found = new Set<number>();
  while (found.size < Math.min(count, length)) {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    found.add(seed % length);
  }
  return [...found].sort((a, b) => a - b);
}

test.each(readdirSync(recordings).filter((name) => name.endsWith('.cast')))(
  'in the recording %s nothing shows that the emulator was frozen at forty points',
  (name) => {
    const [, ...lines] = readFileSync(new URL(name, recordings), 'utf8').trim().split('\n');
    const printed = lines
      .map((line) => JSON.parse(line) as [number, string, string])
      .filter(([, kind]) => kind === 'o');
    const bytes = Buffer.from(printed.map(([, , text]) => text).join(''));
    expect(compare(bytes, pointsIn(bytes.length, 40)).frozenTimes).toBeGreaterThan(30);
  },
);

const everything = [
  'plain \x1b[1;31mred\x1b[0m 漢字 e\u0301 👩‍👩‍👧 wide at the edge'.padEnd(118, '.'),
  '漢\r\n\x1b[4:3;58;5;9mcurly\x1b[0m \x1b]8;;http://x.example/\x07link\x1b]8;;\x07 \x1b[53mover\x1b[0m\r\n',
  '\x1b]0;a title\x07\x1b]9;4;1;50\x07\x1b[22t\x1b]2;another\x07',
  '\x1b[3g\x1b[10G\x1bH\x1b[30G\x1bH\r\tone\ttwo\r\n',
  '\x1b(0lqqqk\x1b(B \x1b[5;20r\x1b[?6h\x1b[2;3H\x1b[7mregion\x1b7\x1b[0m\x1b[20;1H\n\n\n',
  '\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1006h\x1b[?25l\x1b[4h',
  '\x1b[?1049h\x1b[2J\x1b[3;4Halt \x1b[38;2;1;2;3mscreen\x1b[48;5;200m',
  '\x1b[?2026hhalf a frame',
  '\x1b[?2026l\x1b[?1049l\x1b8back\x1b[?6l\x1b[r\x1b[4l',
  ...Array.from({ length: 300 }, (_, line) => `\r\n${'long '.repeat(line % 60)}${line}`),
  '\x1b[23t\x1b[10;5Hx\x1b[20b',
].join('');

test('frozen at every single byte of text with everything in it, partial sequences and characters too', () => {
  const bytes = Buffer.from(everything.slice(0, 1500));
  const points = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
  const small = { cols: 30, rows: 10, scrollback: 40 };
  const { frozenTimes } = compare(bytes, points, small);
  // The few others stand within a control inside a sequence.
  expect(frozenTimes).toBeGreaterThan(bytes.length - 10);
});

test('frozen in a long text with scrollback that is full, on either screen', () => {
  const bytes = Buffer.from(everything.repeat(3));
  expect(compare(bytes, pointsIn(bytes.length, 60)).frozenTimes).toBeGreaterThan(50);
});

test('what is damaged or of another version is refused, never drawn', () => {
  const { made } = emulator();
  made.write(Buffer.from('text'));
  const frozen = Buffer.from(made.freeze(Buffer.from('text'))!);
  expect(() => emulator(frozen.subarray(0, frozen.length - 9))).toThrow();
  const flipped = Buffer.from(frozen);
  flipped[flipped.length - 12]! ^= 0xff;
  expect(() => emulator(flipped)).toThrow();
});

test('the version whose parts are read is the one that is installed', () => {
  const { name, version } = JSON.parse(
    readFileSync(new URL('../../../node_modules/@xterm/headless/package.json', import.meta.url), 'utf8'),
  ) as { name: string; version: string };
  expect(frozenBy).toBe(`${name} ${version}`);
});

test('a character that is cut between two reads is whole, wherever it is cut', () => {
  const { made } = emulator();
  for (const byte of Buffer.from('— … “x” 漢 👩 \u0800 é ü')) made.write(Uint8Array.of(byte));
  expect(made.lastLines(1)).toBe('— … “x” 漢 👩 \u0800 é ü');
});

test('frozen between a command and its end: the marks stay at their lines', () => {
  const line = (text: string) => `\x1b]133;A\x07$ ${text}\r\n\x1b]133;C\x07`;
  const bytes = Buffer.from(
    `${line('seq 30')}${'row\r\n'.repeat(30)}\x1b]133;D;2\x07${line('top')}\x1b[?1049hfull\x1b[?1049l\x1b]133;D;0\x07`,
  );
  compare(bytes, [20, 150, bytes.indexOf('full'), bytes.length - 4]);
});
