/**
 * Phrases that Gantry used to say and that no native writer of English would print. They must not come back into what a person or a model
 * reads: screens, errors, help, prompts, pages of the docs. Each stands beside what is said instead.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../..', import.meta.url).pathname;

const phrases: readonly { readonly phrase: RegExp; readonly instead: string }[] = [
  { phrase: /\bby (?:itself|themselves)\b/i, instead: 'automatically' },
  { phrase: /\b(?:goes|go|going|went|gone) on\b(?! and on)/i, instead: 'continues' },
  { phrase: /\banew\b/i, instead: 'again' },
  { phrase: /\bwhoever\b/i, instead: 'who it is: your administrator, …' },
  {
    phrase:
      /(?<!\b(?:leave|leaves|left|leaving|let) (?:[\w’]+ ){0,2})\b(?!(?:const|let|await|return|readonly|function|left)\b)[a-z’]+ alone\b(?! \?)/i,
    instead: 'only …',
  },
  { phrase: /\bthat there (?:is|are)\b/i, instead: 'that … exist, or a number' },
  { phrase: /\b(?:there (?:is|are|was|were)|and is|is) none\b(?! of)/i, instead: 'what is missing' },
  { phrase: /\band this \w+ is none\b/i, instead: 'only … may' },
  { phrase: /\bwill be here\b/i, instead: 'appears here' },
  { phrase: /\b(?:is|are|was|were|be|been) told\b(?! apart)/i, instead: 'who tells whom, or what is shown' },
  { phrase: /\b(?:is|are|was) not (?:used )?right(?:ly)?\b/i, instead: 'is invalid, wrong usage' },
  { phrase: /\bthat is not right\b/i, instead: 'invalid' },
  { phrase: /\bis held by no\b/i, instead: 'no … applies to' },
  { phrase: /\bfrom nowhere but\b/i, instead: 'only from' },
  { phrase: /\bnobody asks for\b/i, instead: 'no … is connected' },
  { phrase: /\bis listened for\b/i, instead: 'is subscribed to' },
  { phrase: /\bthe time for (?:it|this) is over\b/i, instead: 'expired' },
  { phrase: /\bhand(?:s|ed)? in a task\b/i, instead: 'add a task' },
  { phrase: /\bnothing can be put under\b/i, instead: 'what has to stop first' },
  { phrase: /\bhow many there are\b/i, instead: 'the number of …' },
  { phrase: /\ban agent of your own\b/i, instead: 'an agent program' },
  { phrase: /\bnothing new is taken on\b/i, instead: 'no new work is accepted' },
  { phrase: /\bwhile a person was asked\b/i, instead: 'while waiting for approval' },
  { phrase: /\bwhose model\b/i, instead: 'provider' },
  { phrase: /\bas the computer has it\b/i, instead: 'System' },
  {
    phrase: /\bagents in live terminal panes or models\b/i,
    instead: 'agent programs in terminal panes, or hosted models',
  },
  { phrase: /\bwhole ways, played\b/i, instead: 'end-to-end scenarios' },
  { phrase: /\bis sent to us\b/i, instead: 'Gantry sends us' },
  { phrase: /\bholds neither repositories nor\b/i, instead: 'leaves out' },
  { phrase: /\bprint a new one-time address\b/i, instead: 'print a one-time sign-in link' },
  { phrase: /\bwho there is, what they do\b/i, instead: 'list, inspect and control' },
  { phrase: /\bwhat was said and done last\b/i, instead: 'latest conversation' },
  { phrase: /\bits keys die\b/i, instead: 'its keys are revoked' },
  { phrase: /\bonly who(?:m)? (?:texted|wrote|called)\b/i, instead: 'people … only after they …' },
  { phrase: /\bonly their own START\b/i, instead: 'until they send START' },
  { phrase: /\bposts this event to nobody\b/i, instead: 'can’t be subscribed to' },
  { phrase: /\bwhose work its events\b/i, instead: 'the bot that handles new events' },
  { phrase: /\bwhat is left empty\b/i, instead: 'empty fields keep their value' },
  { phrase: /\bgather for\b/i, instead: 'batch window' },
  { phrase: /\bby what runs report\b/i, instead: 'as reported by runs' },
  { phrase: /\bwith spaces between; else\b/i, instead: 'space-separated' },
  { phrase: /\bof the program that will use it\b/i, instead: 'the program that will use this key' },
  { phrase: /\bbehave in a certain way\b/i, instead: 'test numbers' },
  { phrase: /\bor its time is not valid\b/i, instead: 'invalid or expired signature' },
  { phrase: /\bcloud of many people\b/i, instead: 'multi-user cloud' },
  { phrase: /\bis no public address\b/i, instead: 'local addresses are blocked' },
  { phrase: /\bis not to be tried again\b/i, instead: 'do not try' },
  { phrase: /\bagain and again as long as\b/i, instead: 'repeats until' },
];

/** Lines that are read by nobody who uses Gantry: comments of code. */
const comment = /^\s*(?:\/?\*|\/\/|\{\/\*)/;

function phrasesIn(path: string, text: string): string[] {
  const isCode = !path.endsWith('.md');
  return text.split('\n').flatMap((whole, at) => {
    if (isCode && comment.test(whole)) return [];
    const line = isCode ? whole.replace(/\s\/\/\s.*$/, '') : whole;
    return phrases.flatMap(({ phrase, instead }) => {
      const [found] = phrase.exec(line) ?? [];
      return found === undefined ? [] : [`${path}:${at + 1}: "${found}" (say instead: ${instead})`];
    });
  });
}

test('no screen, error, help, prompt or page of the docs says a phrase that was given up', () => {
  const places = ['src', 'tools', 'docs', 'examples', 'README.md', 'CONTRIBUTING.md'];
  const tracked = execFileSync('git', ['ls-files', '-z', ...places], { cwd: root, encoding: 'utf8' }).split('\0');
  // The text of a migration is never changed: a start refuses a step whose hash differs.
  const read = tracked.filter((path) => /\.(?:tsx?|mjs|md|html)$/.test(path) && !path.endsWith('/migrations.ts'));
  expect(read.length).toBeGreaterThan(1000);
  expect(read.flatMap((path) => phrasesIn(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
});

test('a phrase is found in a string and on a page, with its line, and a comment is left alone', () => {
  expect(phrasesIn('src/a.ts', "const a = 1;\nconst b = 'The page goes on by itself.';\n")).toEqual([
    'src/a.ts:2: "by itself" (say instead: automatically)',
    'src/a.ts:2: "goes on" (say instead: continues)',
  ]);
  expect(phrasesIn('docs/a.md', 'It starts anew.')).toHaveLength(1);
  expect(phrasesIn('src/a.tsx', '<p>Subscriptions will be here.</p>')).toHaveLength(1);
  expect(phrasesIn('src/a.ts', '/** It starts anew. */\nconst a = 1; // whoever asks\n * is told\n')).toEqual([]);
});
