import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createEmulator, type EmulatorParts, loadEmulatorParts } from '../../../src/programs/pane-host/emulator.ts';
import type { RecordedOsc } from '../../../src/programs/pane-host/pane.ts';
import { freshId, sleep, spec, testPane, until } from './support.ts';

async function emulator(size = { cols: 40, rows: 6 }) {
  const replies: string[] = [];
  const oscs: string[] = [];
  const made = createEmulator(await loadEmulatorParts(), {
    ...size,
    scrollback: 100,
    onReply: (text) => void replies.push(text),
    onOsc: (code, text) => void oscs.push(`${code}:${text}`),
  });
  return { replies, oscs, made, write: (text: string) => made.write(Buffer.from(text)) };
}

test('questions that programs need answered are answered, those that leak or inject are not', async () => {
  const { replies, write } = await emulator();
  const asked = (question: string): string[] => {
    replies.length = 0;
    write(question);
    return [...replies];
  };
  expect(asked('\x1b[c')).toEqual(['\x1b[?1;2c']);
  expect(asked('\x1b[6n')).toEqual(['\x1b[1;1R']);
  expect(asked('\x1b[?2004$p')).toEqual(['\x1b[?2004;2$y']);
  expect(asked('\x1b]11;?\x07')).toEqual(['\x1b]11;rgb:1616/1616/1616\x1b\\']);
  expect(asked('\x1b]10;?\x1b\\')).toEqual(['\x1b]10;rgb:d4d4/d4d4/d4d4\x1b\\']);
  expect(asked('\x1b]4;1;?\x07')).toEqual(['\x1b]4;1;rgb:cdcd/3131/3131\x1b\\']);
  expect(asked('\x1b[?996n')).toEqual(['\x1b[?997;1n']);
  // Title and clipboard would type a program's own text into the pane; the rest is nobody's business.
  const silent = [
    '\x1b]0;evil\x07\x1b[21t',
    '\x1b]52;c;?\x07',
    '\x05',
    '\x1b[>q',
    '\x1b[1;1;1;1;1;1*y',
    '\x1b]4;99;?\x07',
  ];
  for (const question of silent) expect(asked(question)).toEqual([]);
});

test('a program gets each answer exactly once, also when several clients watch', async () => {
  const pane = await testPane(
    spec(freshId(), "stty raw -echo; printf '\\033[c'; dd bs=1 count=7 2>/dev/null | od -c; sleep 60"),
    {
      wanted: () => true,
    },
  );
  await until('it has read', () => pane.capture(5).text.includes('0000007'));
  expect(pane.capture(5).text).toContain('033   [   ?   1   ;   2   c');
  // A second answer would be on its way by now.
  await sleep(50);
  expect(pane.pty.unwritten).toBe(0);
});

test('the drawn screen has colours and text but nothing that acts on a terminal', async () => {
  const { made, write } = await emulator();
  write(
    '\x1b[?2004h\x1b[?1003h\x1b[?1004h\x1b]52;c;YQ==\x07\x1b]8;;http://evil\x07link\x1b]8;;\x07 \x1b[1;31mred\x1b[0m \x1b[48;5;200mbg\x1b[m',
  );
  write('\r\n\x1b[?1049h\x1b[Hsecond screen 日本');
  const drawn = made.screen();
  expect(drawn.replace(/\x1b\[[0-9;]*m/g, '')).toMatch(/^second screen 日本(\r\n)*$/);
  write('\x1b[?1049l');
  expect(made.screen().split('\r\n')[0]).toMatch(
    /^(\x1b\[0;4m)?link(\x1b\[0m)? \x1b\[0;1;31mred\x1b\[0m \x1b\[0;48;5;200mbg\x1b\[0m$/,
  );
});

test('a drawing gives the same rows and looks in another terminal', async () => {
  const first = await emulator({ cols: 30, rows: 5 });
  first.write(
    '\x1b[1;2;3;4;7;9mall\x1b[0m plain \x1b[38;2;1;2;3;48;2;4;5;6mtrue\x1b[0m\r\n\x1b[90;107mbright\x1b[m  \x1b[44m   \x1b[m\r\n日本e\u0301🐸x',
  );
  const second = await emulator({ cols: 30, rows: 5 });
  second.write(first.made.screen());
  expect(second.made.screen()).toBe(first.made.screen());
});

test('sequences of interest are reported in order with their text, and do not show', async () => {
  const { oscs, made, write } = await emulator();
  write(
    'a\x1b]9;4;3;50\x07b\x1b]133;A\x07\x1b]777;notify;T;B\x1b\\\x1b]21337;status=Working;x\x07\x1b]99;i=1;hi\x07\x1b]7;file:///tmp\x07\x1b]1337;CurrentDir=/tmp\x07c',
  );
  expect(oscs).toEqual([
    '9:4;3;50',
    '133:A',
    '777:notify;T;B',
    '21337:status=Working;x',
    '99:i=1;hi',
    '7:file:///tmp',
    '1337:CurrentDir=/tmp',
  ]);
  expect(made.facts()).toMatchObject({ progress: '3;50', bottom: ['abc'] });
});

test('facts tell title, modes, bottom rows and which of them are dim', async () => {
  const { made, write } = await emulator();
  write(
    '\x1b]2;a title\x07\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b[?25lfirst\r\n> \x1b[2mTry "fix the tests"\x1b[0m\r\nlast \x1b[2mx\x1b[0m\r\n\r\n',
  );
  expect(made.facts()).toEqual({
    title: 'a title',
    progress: null,
    altScreen: false,
    bracketedPaste: true,
    focusReporting: true,
    applicationCursor: true,
    bottom: ['first', '> Try "fix the tests"', 'last x'],
    dimRows: [false, true, false],
  });
  expect(made.cursor()).toEqual({ x: 0, y: 4, visible: false });
  write('\x1b[?1049h');
  expect(made.facts()).toMatchObject({ altScreen: true, bottom: [] });
});

test('lines above the screen keep their numbers while more scroll away', async () => {
  const { made, write } = await emulator({ cols: 20, rows: 4 });
  for (let line = 0; line < 300; line++) write(`line ${line}\r\n`);
  const newest = made.scrollback(undefined, 5);
  expect(newest).toMatchObject({ first: 292, lines: 5, total: 297 });
  expect(newest.ansi.split('\r\n')).toEqual(['line 292', 'line 293', 'line 294', 'line 295', 'line 296']);
  write('more\r\n');
  expect(made.scrollback(297, 5).ansi).toBe(newest.ansi);
  // 100 lines are held; what is older is not made up.
  expect(made.scrollback(200, 50)).toMatchObject({ first: 198, lines: 2 });
  expect(made.scrollback(100, 50)).toMatchObject({ lines: 0, ansi: '' });
});

test('commands of a shell that marks its prompts are known by line and exit code, also after a change of size', async () => {
  const { made, write } = await emulator({ cols: 20, rows: 6 });
  const prompt = (exit: number) => write(`\x1b]133;D;${exit}\x07\x1b]133;A\x07$ \x1b]133;B\x07`);
  const run = (command: string, output: string) => write(`${command}\r\n\x1b]133;C\x07${output}`);
  prompt(0);
  // A prompt at which nothing ran is no command.
  write('\r\n');
  prompt(0);
  run('seq 3', '1\r\n2\r\n3\r\n');
  prompt(0);
  run('false', '');
  prompt(1);
  run('sleep 9', '');
  const commands = [
    { line: 1, exit: 0 },
    { line: 5, exit: 1 },
    { line: 6, exit: null },
  ];
  expect(made.scrollback(undefined, 10)).toMatchObject({ total: 2, commands });
  made.resize(20, 3);
  expect(made.scrollback(undefined, 10)).toMatchObject({ total: 5, commands });
  // What is cleared away takes its mark along, and what a full-screen program does is its own.
  write('\x1b[?1049h\x1b]133;A\x07\x1b[?1049l\x1b[H\x1b[2J\x1b[3J');
  expect(made.scrollback(undefined, 10).commands).toEqual([]);
});

test('text joins what the terminal wrapped and leaves out blank rows at the end', async () => {
  const { made, write } = await emulator({ cols: 10, rows: 5 });
  write('0123456789abcdefghijKLM\r\n\r\nlast\r\n\r\n');
  expect(made.lastLines(10)).toBe('0123456789abcdefghijKLM\n\nlast');
  expect(made.lastLines(1)).toBe('last');
});

test('painted blanks are no lines of text, and a wide character that did not fit at the margin adds none', async () => {
  const { made, write } = await emulator({ cols: 10, rows: 24 });
  write('one\r\n\x1b[44m');
  for (let row = 0; row < 20; row += 1) write(`${' '.repeat(9)}\r\n`);
  expect(made.lastLines(80)).toBe('one');
  write('\x1b[0mtwo');
  expect(made.lastLines(80)).toBe(`one${'\n'.repeat(21)}two`);
  const wide = await emulator({ cols: 10, rows: 24 });
  wide.write('123456789漢字かな交じり文 end');
  expect(wide.made.lastLines(1)).toBe('123456789漢字かな交じり文 end');
});

test('an emulator that breaks is replaced: the pane goes on, its text before and after is there, nothing is answered twice', async () => {
  const parts = await loadEmulatorParts();
  class Fragile extends (parts.Terminal as new (options: object) => InstanceType<EmulatorParts['Terminal']>) {
    constructor(options: object) {
      super(options);
      this.parser.registerOscHandler(6666, () => {
        throw new Error('a fault in the parser');
      });
    }
  }
  const faults: string[] = [];
  const oscs: RecordedOsc[] = [];
  const script =
    "stty raw -echo; printf 'before \\033]9;one\\007\\033[c'; dd bs=1 count=7 of=/dev/null 2>/dev/null; printf 'x\\033]6666;\\007'; sleep 0.2; printf 'after'; dd bs=1 count=1 of=/dev/null 2>/dev/null; echo twice; sleep 60";
  const pane = await testPane(
    spec(freshId(), script),
    { fault: (_pane, what) => void faults.push(what), osc: (_pane, kept) => void oscs.push(kept) },
    { ...parts, Terminal: Fragile },
  );
  await until('it went on', () => pane.capture(5).text.includes('after'));
  expect(faults).toEqual(['its emulator was rebuilt: a fault in the parser']);
  expect(pane.capture(5).text).toBe('before after');
  // What is answered twice would let the program go on by now.
  await sleep(200);
  expect(pane.capture(5).text).toBe('before after');
  expect(oscs.map(({ osc }) => osc.text)).toEqual(['one']);
  expect(pane.facts().bottom).toEqual(['before after']);
});

test('the data path neither encodes nor decodes what programs print', () => {
  const source = (name: string): string => readFileSync(new URL(`../../../src/${name}`, import.meta.url), 'utf8');
  const path = [
    'programs/pane-host/pty.ts',
    'programs/pane-host/journal.ts',
    'programs/pane-host/stream.ts',
    'programs/pane-host/feed.ts',
  ];
  path.push(
    'runtime-server/panes/streams.ts',
    'runtime-server/panes/host-connection.ts',
    'programs/pane-host/protocol.ts',
  );
  const forbidden = /base64|TextDecoder|StringDecoder|setEncoding|latin1|\.toString\(|JSON\.parse/g;
  const found = path.flatMap((name) => [...source(name).matchAll(forbidden)].map(([word]) => `${name}: ${word}`));
  // The header of a frame is the one thing that is read as text.
  expect(found).toEqual(['programs/pane-host/protocol.ts: JSON.parse', 'programs/pane-host/protocol.ts: .toString(']);
});
