/** Whoever reads the repository needs no other text: what it cites is in it, or is public and cited by its name. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, commentsOf, problemsOfCode, problemsOfPage, trackedFiles } from './citations.ts';

const root = new URL('../..', import.meta.url).pathname;

// Recordings and documents of others say what they say.
const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '' && existsSync(join(root, path)))
  .map((path) => ({ path, text: isText(path) ? readFileSync(join(root, path), 'utf8') : '' }));
const tracked = trackedFiles(files);
const pages = files.filter(({ path }) => path.endsWith('.md') && !path.startsWith('test/'));
const code = files.filter(({ path }) => /\.(tsx?|m?js|css|html|ya?ml|sh)$|^\.ci\//.test(path) && isText(path));

function isText(path: string): boolean {
  return !path.startsWith('test/data/') && /\.(md|tsx?|m?js|css|html|ya?ml|sh)$|^\.ci\//.test(path);
}

test('no comment and no name of a test cites what is not in the repository', () => {
  expect(code.length).toBeGreaterThan(1000);
  expect(code.flatMap((file) => problemsOfCode(file, tracked))).toEqual([]);
});

test('no page cites what is not in the repository, and each of its links and anchors leads somewhere', () => {
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap((page) => problemsOfPage(page, tracked))).toEqual([]);
});

const small = trackedFiles([
  { path: 'README.md', text: '# Small\n\n## How to start\n' },
  { path: 'docs/phone.md', text: '# Phone\n\n## A real carrier\n\n## Texts\n\n## Texts\n\n<a id="own"></a>\n' },
  { path: 'docs/adr/0001-one.md', text: '' },
  { path: 'src/kit/http/README.md', text: '' },
  { path: 'src/kit/http/server.ts', text: '' },
]);

const wrong: [path: string, text: string, problem: string][] = [
  ['src/kit/a.ts', '/** One way in (plan.md 1). */', 'cites plan.md, which is not in the repository'],
  ['src/kit/a.ts', '/**\n * One way in,\n * as plan.md says.\n */', 'src/kit/a.ts:1: cites plan.md'],
  ['src/kit/a.ts', 'const a = 1; // plan.md says so', 'cites plan.md'],
  ['src/kit/a.ts', "const a = 'it'; // it's in notes/store.md", 'cites notes/store.md'],
  // A page of that name is elsewhere: a comment says which by its path.
  ['src/kit/a.ts', '// phone.md 2.1', 'cites phone.md, which is not in the repository'],
  ['src/kit/a.ts', '// docs/phone.md 2.1', 'cites docs/phone.md by a number'],
  ['src/kit/a.ts', '// docs/phone.md#carrier', 'docs/phone.md has no such anchor'],
  ['src/kit/a.ts', '// Calls (docs/calls.md#a-call).', 'cites docs/calls.md'],
  ['src/kit/a.ts', '/* As §4 has it. */', 'cites a numbered section (§)'],
  ['src/kit/a.ts', '/** First user: approvals; second: those of part 2. */', 'cites "part 2" of a text'],
  ['src/kit/a.ts', '/** Bad input (issue 5). */', 'cites "issue 5" of a text'],
  ['src/kit/a.ts', '// As in\n// section 4.2 of it.', 'cites "section 4"'],
  ['src/kit/a.ts', '// As page.tsx has it.', 'cites page.tsx, and no file of the repository is called so'],
  ['src/kit/a.ts', '/** Two adapters (link/server.ts). */', 'cites link/server.ts'],
  ['src/renderer/a.css', '/* Colours: plan.md */', 'cites plan.md'],
  ['src/renderer/a.html', '<p><!-- Icons:\nplan.md --></p>', 'src/renderer/a.html:1: cites plan.md'],
  ['build/a.yml', 'a: b # plan.md', 'cites plan.md'],
  ['test/a.test.ts', "test('a run (plan.md 3)', () => {});", 'test/a.test.ts:1: cites plan.md'],
  ['test/a.test.ts', "test.each([1])('issue 4: %s', () => {});", 'cites "issue 4"'],
  [
    'test/a.test.ts',
    "  test.each([\n    [1],\n  ] as const)('issue 4: %s', () => {});",
    'test/a.test.ts:3: cites "issue 4"',
  ],
  ['test/a.test.ts', 'describe(\n  `what §2 says`,\n  () => {});', 'cites a numbered section (§)'],
  ['docs/a.md', 'As plan.md says.', 'cites plan.md'],
  ['docs/a.md', 'As `plan.md` says.', 'cites plan.md'],
  ['docs/a.md', 'See [the plan](plan.md).', 'links to plan.md, and there is no docs/plan.md'],
  ['docs/a.md', 'See [the phone](docs/phone.md).', 'there is no docs/docs/phone.md'],
  ['docs/a.md', 'See [a carrier](phone.md#carrier).', 'docs/phone.md has no such anchor'],
  ['docs/a.md', '# A\n\nSee [below](#b).', 'links to #b, and docs/a.md has no such anchor'],
  ['docs/a.md', '![A](images/a.png)', 'there is no docs/images/a.png'],
  ['docs/a.md', '<img src="images/a.png">', 'there is no docs/images/a.png'],
  ['docs/a.md', '[plan]: plan.md', 'there is no docs/plan.md'],
  ['docs/a.md', 'This was part 7.', 'cites "part 7"'],
  ['docs/a.md', 'By §4.', 'cites a numbered section (§)'],
];

const problemsOf = (path: string, text: string) => {
  const known = { ...small, anchors: (page: string) => (page === path ? anchorsOf(text) : small.anchors(page)) };
  const here = { ...known, has: (place: string) => place === path || small.has(place) };
  return (path.endsWith('.md') ? problemsOfPage : problemsOfCode)({ path, text }, here);
};

test.each(wrong.map(([path, text, problem]) => [path, problem, text] as const))(
  '%s is held: %s',
  (path, problem, text) => {
    expect(problemsOf(path, text).join('\n')).toContain(problem);
  },
);

const right: [what: string, path: string, text: string][] = [
  ['an anchor', 'src/kit/a.ts', '/** Limits: docs/phone.md#texts-1, README.md#how-to-start. */'],
  [
    'a source by the end of its path',
    'src/main/a.ts',
    '// http/server.ts, ../kit/http/server.ts, electron.d.ts, *.test.ts',
  ],
  ['a page beside it', 'src/kit/http/a.ts', '// README.md says what it is not.'],
  ['a standard', 'src/kit/a.ts', '/** Equations (ECMA-376 part 1, 22.1), names (RFC 9110, section 5.4). */'],
  ['an issue of a named project', 'src/kit/a.ts', '// Node 20 ends with it (WiseLibs/better-sqlite3 issue 1514).'],
  ['pages of a workspace', 'src/kit/a.ts', '// AGENTS.md, packages/a/CLAUDE.md, docs/**/*.md and <id>.md'],
  [
    'what it likes in strings',
    'src/kit/a.ts',
    "const a = 'plan.md // plan.md'; const b = \"§ /* part 1 */\"; // It's done.",
  ],
  ['an address', 'src/kit/a.ts', "const url = 'https://plan.md/'; const all = 'a/**/plan.md';"],
  ['numbers and other strings', 'test/a.test.ts', "test('a part of 2 issues', () => read('plan.md'));"],
  [
    'links that lead somewhere',
    'docs/a.md',
    '# A b\n\n[Here](#a-b), [there](phone.md#a-real-carrier), [own](phone.md#own)',
  ],
  ['a folder, an address and a name', 'docs/a.md', '[all](adr), [out](https://a.b/c.md), [README.md](../README.md)'],
  ['a block of code', 'docs/a.md', '```sh\ncat plan.md # part 7\n```\n\n    gantry tools call file.read path=plan.md'],
  ['a command', 'docs/a.md', '`gantry send a --file plan.md`'],
];

test.each(right)('it may cite %s', (_what, path, text) => {
  expect(problemsOf(path, text)).toEqual([]);
});

test('a comment is found with its line, and strings are no comments', () => {
  const text = "const a = '/* no */'; // yes\n\n/**\n * one\n * two\n */\nb(); // c\n// d\n// e";
  expect(commentsOf({ path: 'src/a.ts', text }).map(({ line, text: words }) => [line, words.trim()])).toEqual([
    [1, 'yes'],
    [3, 'one two'],
    [7, 'c d e'],
  ]);
});
