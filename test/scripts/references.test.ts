/** The references in docs/ are what the catalogue and the route tables say. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { agentProgramsFile, agentProgramsText, versionOf } from '../../scripts/agent-programs.ts';
import { apiReference, staleApiReference } from '../../scripts/api-reference.ts';
import { cliReferenceFile, cliReferenceText } from '../../scripts/cli-reference.ts';
import { commands, parts } from '../../src/cli/catalogue.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { rowNames } from '../conformance/harness/rows.ts';
import { plays } from '../real/harness-plays.ts';

const root = resolve(import.meta.dirname, '..', '..');

test('docs/cli.md is what the catalogue says; if this fails, run: npm run references', () => {
  expect(readFileSync(cliReferenceFile, 'utf8')).toBe(cliReferenceText());
});

test('docs/api.md and docs/api are what the route tables say; if this fails, run: npm run references', () => {
  expect(staleApiReference()).toEqual([]);
});

test('docs/agent-programs.md is what the adapters say, with every row of their kit; if this fails, run: npm run references', () => {
  const text = agentProgramsText();
  expect(readFileSync(agentProgramsFile, 'utf8')).toBe(text);
  expect(rowNames.filter((row) => !text.includes(`\n| ${row} | `))).toEqual([]);
});

test('the version of a program that is played is the one that its rules were recorded with', () => {
  expect(plays.map(({ harness, version }) => [harness, version])).toEqual(
    plays.map(({ harness }) => [harness, versionOf(harness)]),
  );
});

test('no command and no route is missing from its reference', () => {
  const words = [
    ...commands.map((verb) => verb.name),
    ...parts.flatMap((part) => part.verbs.map((verb) => `${part.name} ${verb.name}`)),
  ];
  const cli = cliReferenceText();
  expect(words.filter((name) => !cli.includes(`# gantry ${name}\n`))).toEqual([]);
  const api = [...apiReference().values()].join('\n');
  const routes = serverTables.flatMap((table) => table.routes);
  const missing = routes.filter(
    (route) => !api.includes(`**\`${route.method} ${route.path.replace(/:([A-Za-z0-9_]+)/g, '{$1}')}\`**`),
  );
  expect(missing.map((route) => route.op)).toEqual([]);
});

/** Pages for people: what they link to within the repository is there. */
test('every link between the pages leads somewhere', () => {
  const pages = [
    ...readdirSync(root).filter((name) => name.endsWith('.md')),
    ...readdirSync(join(root, 'docs'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
    return [...text.matchAll(/\]\(([^)\s#]+)(#[^)\s]*)?\)/g)]
      .map((match) => match[1] as string)
      .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(resolve(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`);
  });
  expect(broken).toEqual([]);
});
