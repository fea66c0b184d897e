/** Whoever is refused for the form of a name hears the rule, and not a pattern of ours. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const contracts = join(import.meta.dirname, '../../src/contracts');
/** `.regex(<pattern>)` without the words that are shown in its place. */
const wordless = /\.regex\(\s*(?:\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\n\\[])+\/[a-z]*|new RegExp\([^()]*\))\s*,?\s*\)/g;

const found = (text: string) => [...text.matchAll(wordless)].map(([call]) => call);

test('each pattern of the contracts says in words what it allows', () => {
  const files = readdirSync(contracts, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(100);
  expect(
    files.flatMap((name) => found(readFileSync(join(contracts, name), 'utf8')).map((call) => `${name}: ${call}`)),
  ).toEqual([]);
});

test.each(['.regex(/^a$/)', '.regex(/^[a-z/]{1,3}$/u)', '.regex(\n  /\\d/,\n)', '.regex(new RegExp(`x`))'])(
  '%j has no words',
  (text) => {
    expect(found(text)).toEqual([text]);
  },
);
test.each([".regex(/^a$/, 'an a')", ".regex(\n  /\\d/,\n  'a digit',\n)"])('%j has', (text) => {
  expect(found(text)).toEqual([]);
});
