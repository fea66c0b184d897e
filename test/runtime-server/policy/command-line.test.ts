/** Which command lines count as one program, held against real shells. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isCompound, saysCompound } from '../../../src/runtime-server/policy/command-line.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-line-'));
  mkdirSync(join(folder, 'bin'));
  for (const [name, script] of [
    ['plain', '#!/bin/sh\necho "$@" >> "$RAN"\n'],
    ['marker', '#!/bin/sh\n: > "$MARK"\n'],
  ] as const) {
    writeFileSync(join(folder, 'bin', name), script);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shells = ['/bin/sh', '/bin/bash', '/bin/zsh'].filter(existsSync);

/** What a shell really does with a line: whether anything but `plain` ran or was written. */
function runsMore(shell: string, line: string): boolean {
  const cwd = mkdtempSync(join(folder, 'run-'));
  const mark = join(folder, 'mark');
  const env = { PATH: join(folder, 'bin'), MARK: mark, RAN: join(folder, 'ran') };
  rmSync(mark, { force: true });
  spawnSync(shell, ['-c', line], { cwd, env, stdio: ['ignore', 'ignore', 'ignore'], timeout: 20_000 });
  const more = existsSync(mark) || execFileSync('/bin/ls', ['-A', cwd]).length > 0;
  rmSync(cwd, { recursive: true, force: true });
  return more;
}

const attacks = [
  "plain --version #'\nmarker; marker > pwned #'",
  "plain log $'\\'' ; marker #'",
  'plain $"x" ; marker',
  "plain #' ; \nmarker '",
  "plain x\t#'\nmarker #'",
  'plain "$(marker)"',
  'plain "`marker`"',
  'plain `marker`',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's own.
  'plain ${X:-$(marker)}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's own.
  'plain "${X:-`marker`}"',
  'plain <(marker)',
  'plain >pwned',
  'plain & marker',
  'plain | marker',
  'plain || marker; plain && marker',
  'plain <<x\n$(marker)\nx',
  "plain 'a'\nmarker",
  'plain \\\n; marker',
  'plain "a\nb"; marker',
  'plain $((a[$(marker)]))',
];

test('no trick of quoting makes a shell run more than the line was taken for', () => {
  for (const line of attacks) {
    expect([line, isCompound(line, 'linux')]).toEqual([line, true]);
    expect([line, isCompound(line, 'win32')]).toEqual([line, true]);
  }
  // They are attacks in truth: at least one real shell does more for nearly each of them.
  expect(attacks.filter((line) => shells.some((shell) => runsMore(shell, line))).length).toBeGreaterThan(14);
});

test('what is certainly one program stays one: quoted, escaped, in an address', () => {
  for (const line of [
    'git status',
    "git commit -m 'a; b > $(c) # d'",
    'git log "--format=%h;%s|#1"',
    'git add a\\;b \\$x \\#y',
    "echo 'it'\\''s'",
    'curl https://example.com/page#part',
    'git\tlog',
  ]) {
    expect([line, isCompound(line, 'linux')]).toEqual([line, false]);
  }
});

test('what cannot be told is compound: an open quote, a line that goes on, control characters, a variable', () => {
  for (const line of [
    "git log '",
    'git log "',
    'git log \\',
    'git log \u001b[8m',
    'git\u0000log',
    'git $X',
    'git {a,b}',
  ]) {
    expect([line, isCompound(line, 'linux')]).toEqual([line, true]);
  }
  // To cmd.exe a single quote quotes nothing.
  expect(isCompound("git commit -m 'a & calc'", 'win32')).toBe(true);
  expect(isCompound('git commit -m ^', 'win32')).toBe(true);
  expect(isCompound('git commit -m "a b"', 'win32')).toBe(false);
});

test('whatever line is thrown together, one that counts as plain runs nothing else in a real shell', () => {
  const pieces = [
    "'",
    '"',
    '\\',
    '#',
    ' ',
    ';',
    '\n',
    '\r',
    '$',
    '`',
    '(',
    ')',
    '&',
    '|',
    '>',
    '{',
    '}',
    '\t',
    '=',
    'a',
    ' marker ',
    "$'",
    '$(',
    ' #',
    "'\\''",
  ];
  let seed = 20_260_101;
  const next = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const plain: string[] = [];
  for (let drawn = 0; plain.length < 60 && drawn < 200_000; drawn += 1) {
    const line = `plain ${Array.from({ length: 2 + next(10) }, () => pieces[next(pieces.length)]).join('')}`;
    // Only those that could go wrong.
    if (line.includes('marker') && /['"#\\]/.test(line) && !isCompound(line, 'linux')) plain.push(line);
  }
  expect(plain).toHaveLength(60);
  for (const line of plain) {
    for (const shell of shells) expect([shell, line, runsMore(shell, line)]).toEqual([shell, line, false]);
  }
}, 120_000);

test('a person’s glob opens several commands only where it says several itself', () => {
  for (const glob of ['cd * && npm test', 'npm test | tee *', 'x "$(y)" *']) {
    expect([glob, saysCompound(glob)]).toEqual([glob, true]);
  }
  for (const glob of [
    'npm {test,run lint}',
    'git log $HOME*',
    "git commit -m '*; *'",
    'git show #*',
    'echo "a; *"',
    'echo "$X; *"',
    "it's *",
  ]) {
    expect([glob, saysCompound(glob)]).toEqual([glob, false]);
  }
});
