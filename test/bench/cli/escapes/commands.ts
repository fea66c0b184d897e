/** Every command that asks a server, the ways to call it, and what its output must not do. */
import { PassThrough } from 'node:stream';
import { commands, parts } from '../../../../src/cli/catalogue.ts';
import type { Verb } from '../../../../src/cli/command.ts';
import { runCli } from '../../../../src/cli/program.ts';
import { forged, hostileText } from './hostile.ts';

/** They run, stop or install programs, or draw on a terminal: nothing of them is the answer of a server. */
const notAsked = new Set(
  'start stop open desktop cloud runtime worker install backup restore computer-host completion doctor hook'.split(' '),
);
const notAskedOf = new Set(['agents attach', 'desktop install', 'tools connect', 'tools stdio']);
/** They say again what was typed behind them, and name nothing else. */
const echoes = new Set(['agents limit', 'vault rm', 'workspace triggers']);
/** A whole text of many lines is what was asked for. */
const wholeTexts = new Set(['agents capture', 'agents transcript', 'agents screen', 'agents diff', 'tools call']);

export const verbs: readonly (readonly [words: string, verb: Verb])[] = [
  ...commands.map((verb) => [verb.name, verb] as const),
  ...parts.flatMap((part) => part.verbs.map((verb) => [`${part.name} ${verb.name}`, verb] as const)),
].filter(([words]) => !notAsked.has(words) && !notAskedOf.has(words));

/** The value typed for `<name>`. */
export type Word = (name: string) => string;

/** `--lines <n>` with a number, anything else with a word. */
function optionOf(flags: string, word: Word): string[] {
  const [, name = '', value] = /(--[a-z-]+)(?: <([^>]+)>)?/.exec(flags) ?? [];
  if (value === undefined) return [name];
  if (/^n$|seconds|lines|cents|percent|days|minutes/.test(value)) return [name, '1'];
  return [name, value.includes('=') ? `a=${word(value)}` : word(value)];
}

/** With what it needs, with all that it takes, with each of its options, and only planned; `always` stands behind each. */
export function formsOf(words: string, verb: Verb, word: Word, always: readonly string[] = []): string[][] {
  const given = (verb.args ?? '').split(' ').filter((one) => one !== '');
  const typed = (one: string) => word(one.replace(/[<>[\].]/g, ''));
  const needed = given.filter((one) => one.startsWith('<')).map(typed);
  const all = given.map(typed);
  const first = [...words.split(' ')];
  const options = (verb.options ?? []).filter(({ flags }) => !flags.includes('--url') && !flags.includes('--follow'));
  const forms = [
    [...first, ...needed, ...always],
    ...(all.length > needed.length ? [[...first, ...all, ...always]] : []),
    ...options.map(({ flags }) => [...first, ...needed, ...always, ...optionOf(flags, word)]),
    ...(verb.mutation === true ? [[...first, ...all, ...always, '--dry-run']] : []),
  ];
  // What follows a stream looks for a second only.
  const short = (verb.options ?? []).some(({ flags }) => flags.startsWith('--for')) ? ['--for', '1'] : [];
  return forms.map((form) => [...form, ...(form.includes('--for') ? [] : short)]);
}

/** Past this a command follows something: what it printed until then counts. Milliseconds. */
const longest = 3000;

/** All that a command line prints, with hostile words on its stdin. */
export async function printed(env: Readonly<Record<string, string>>, argv: readonly string[], now: number) {
  const stdin = new PassThrough();
  stdin.end(hostileText());
  let out = '';
  const sink = () => {
    const stream = new PassThrough();
    stream.on('data', (data: Buffer) => {
      out += data.toString();
    });
    return stream;
  };
  const terminal = { stdin, stdout: sink(), stderr: sink() } as unknown as Parameters<typeof runCli>[0]['terminal'];
  const ran = runCli({ argv, env, cwd: env.HOME ?? '', terminal, now: () => now, version: '1.2.3' });
  await Promise.race([ran, new Promise((resolve) => setTimeout(resolve, longest).unref())]);
  await new Promise((resolve) => setImmediate(resolve));
  return out;
}

const acting = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const forgedLine = new RegExp(`^${forged}`, 'im');

/** The problem with the printed output; null: none. */
export function problemOf(words: string, argv: readonly string[], out: string): string | null {
  const shown = argv.map((one) => (one.includes(forged) ? '…' : one)).join(' ');
  const raw = acting.exec(out.replaceAll('\t', ' '));
  if (raw !== null) return `${shown}: U+${raw[0].codePointAt(0)?.toString(16)} in ${JSON.stringify(out.slice(0, 200))}`;
  if (wholeTexts.has(words) || echoes.has(words) || !forgedLine.test(out)) return null;
  return `${shown}: a text begins a line of its own in ${JSON.stringify(out.slice(0, 300))}`;
}
