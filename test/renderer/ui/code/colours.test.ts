import { expect, test } from 'vitest';
import { type Coloured, colour } from '../../../../src/renderer/ui/code/colours.ts';
import { languageOf } from '../../../../src/renderer/ui/code/language.ts';

async function coloured(text: string, language: string): Promise<Coloured[][]> {
  const lines: Coloured[][] = [];
  await colour(text, language, (more) => lines.push(...more.map((line) => [...line])), new AbortController().signal);
  return lines;
}

test('a file is known by its name, whatever the case; an unknown one has no colours', () => {
  expect(['a/b.TS', 'Dockerfile', 'x.tsx', '.bashrc', 'Makefile', 'a.yml'].map(languageOf)).toEqual([
    'typescript',
    'docker',
    'tsx',
    'shell',
    'make',
    'yaml',
  ]);
  expect(['a', 'a.unknown', 'a.constructor', 'toString'].map(languageOf)).toEqual([null, null, null, null]);
});

test('each line keeps its text, and what goes over many lines keeps its colour between portions', async () => {
  const text = `/*${'\n a comment'.repeat(450)}\n*/\nconst a = "b";`;
  const lines = await coloured(text, 'typescript');
  expect(lines.map((line) => line.map((one) => one.text).join('')).join('\n')).toBe(text);
  expect(new Set(lines.slice(0, 450).flatMap((line) => line.map((one) => one.colour)))).toEqual(
    new Set(['var(--code-token-comment)']),
  );
  expect(lines.at(-1)?.[0]).toEqual({ text: 'const', colour: 'var(--code-token-keyword)' });
});

test('every language that a name can have is there', async () => {
  const names = ['a.c', 'a.cpp', 'a.cs', 'a.css', 'a.diff', 'Dockerfile', 'a.go', 'a.html', 'a.ini', 'a.java', 'a.js'];
  names.push('a.json', 'a.jsx', 'a.kt', 'a.lua', 'Makefile', 'a.md', 'a.php', 'a.py', 'a.rb', 'a.rs', 'a.scss', 'a.sh');
  names.push('a.sql', 'a.swift', 'a.toml', 'a.tsx', 'a.ts', 'a.xml', 'a.yaml');
  for (const name of names) expect((await coloured('a\nb', languageOf(name) ?? '')).length, name).toBe(2);
});

test('what was left is not coloured further', async () => {
  const ended = new AbortController();
  let portions = 0;
  await colour(
    'a\n'.repeat(5000),
    'typescript',
    () => {
      portions += 1;
      ended.abort();
    },
    ended.signal,
  );
  expect(portions).toBe(1);
});
