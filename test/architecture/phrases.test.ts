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
  { phrase: /\b(?:goes|go|went) on by (?:itself|themselves)\b/i, instead: 'continues automatically' },
  { phrase: /\banew\b/i, instead: 'again' },
  {
    phrase: /\bwhoever (?:runs|administers|asked|asks|wants|reads|has|the)\b/i,
    instead: 'who it is: your administrator, …',
  },
  { phrase: /\b(?:there (?:is|are|was|were)|and is|is) none\b(?! of)/i, instead: 'what is missing' },
  { phrase: /\bwill be here\b/i, instead: 'appears here' },
  { phrase: /\b(?:is|are) told\b/i, instead: 'who tells whom, or what is shown' },
  { phrase: /\b(?:is|are|was) not (?:used )?right(?:ly)?\b/i, instead: 'is invalid, wrong usage' },
  { phrase: /\bcannot be told\b(?! apart)/i, instead: 'is unknown' },
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
    'src/a.ts:2: "goes on by itself" (say instead: continues automatically)',
  ]);
  expect(phrasesIn('docs/a.md', 'It starts anew.')).toHaveLength(1);
  expect(phrasesIn('src/a.tsx', '<p>Subscriptions will be here.</p>')).toHaveLength(1);
  expect(phrasesIn('src/a.ts', '/** It starts anew. */\nconst a = 1; // whoever asks\n * is told\n')).toEqual([]);
});
