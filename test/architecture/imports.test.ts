// Runs always: says at once whether a change kept the order of the rooms.
/** The tree keeps to its own architecture: imports, homes of packages, time as an argument, exports. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  circlesOf,
  exportedInVain,
  folderRules,
  importsOf,
  insideOf,
  namesWorkplace,
  problemsOf,
  roomOf,
  roomRules,
  usedBeforeMade,
} from './rules.ts';

const root = new URL('../..', import.meta.url).pathname;

const sources = ['src', 'tools'].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => ({ path: `${top}/${path}`, text: readFileSync(join(root, top, path), 'utf8') })),
);

test('every import in src and tools keeps to the table, and every file to the rules of style', () => {
  expect(sources.length).toBeGreaterThan(50);
  expect(sources.flatMap(problemsOf)).toEqual([]);
});

test('no files of src import each other in a circle, not even types', () => {
  expect(circlesOf(sources)).toEqual([]);
});

test('every folder of src and tools stands in the table', () => {
  const below = (folder: string) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
  const folders = [
    ...below('src').filter((path) => path !== 'src/programs'),
    ...below('src/programs'),
    ...below('tools'),
  ];
  expect(folders.map(insideOf).toSorted()).toEqual(Object.keys(folderRules).toSorted());
});

test.each(Object.entries(roomRules))('the rooms of src/%s stand in their order, each with files', (folder, inOrder) => {
  const order = Object.keys(inOrder);
  for (const [index, room] of order.entries()) {
    expect(order.slice(0, index), room).toEqual(expect.arrayContaining([...(inOrder[room] ?? [])]));
  }
  const inside = sources.map(({ path }) => insideOf(path)).filter((path) => path.startsWith(`${folder}/`));
  expect(new Set(inside.map(roomOf).filter((room) => room !== null))).toEqual(new Set(order));
});

test('the parts of each program are made in the order in which they need each other', () => {
  const composition = sources.filter(({ path }) => path.startsWith('src/host/'));
  expect(composition.length).toBeGreaterThan(5);
  expect(composition.flatMap((file) => usedBeforeMade(file))).toEqual([]);
});

test('whatever is put together from parts is made in the order in which they need each other', () => {
  expect(sources.flatMap((file) => usedBeforeMade(file, 'parts'))).toEqual([]);
});

test('what only its own file uses is not exported', () => {
  const importers = trackedFiles().filter((path) => /^(?!src\/|tools\/).*\.(?:tsx?|mjs|md)$/.test(path));
  const files = [...sources, ...importers.map((path) => ({ path, text: readTracked(path) }))];
  expect(importers.length).toBeGreaterThan(50);
  expect(exportedInVain(files)).toEqual([]);
});

test('no tracked file names the place where it was made', () => {
  const text = trackedFiles().filter((path) => !/\.(png|ico|icns|woff2|cast|gif)$/.test(path));
  const named = text.filter((path) => namesWorkplace(readTracked(path)));
  expect(named).toEqual([]);
});

function trackedFiles(): string[] {
  return execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
}

function readTracked(path: string): string {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    // Tracked, and removed in the working tree.
    return '';
  }
}

const wrong: [string, string, string][] = [
  ['src/renderer/a.ts', "import { x } from '../kit/store/store.ts';", 'renderer may not import kit/store/store.ts'],
  [
    'src/cloud-api/a/b.ts',
    "import type { X } from '../../runtime-server/panes/x.ts';",
    'cloud-api may not import runtime-server',
  ],
  [
    'src/runtime-server/a.ts',
    "export * from '../programs/pane-host/pane.ts';",
    'runtime-server may not import programs/pane-host/pane.ts',
  ],
  ['src/kit/a/b.ts', "const x = await import('../../host/cloud.ts');", 'kit may not import host/cloud.ts'],
  [
    'src/programs/pane-host/a.ts',
    "import '../../kit/clock/clock.ts';",
    'programs/pane-host may not import kit/clock/clock.ts',
  ],
  [
    'src/programs/executor/a.ts',
    "import '../converter/main.ts';",
    'programs/executor may not import programs/converter/main.ts',
  ],
  [
    'tools/carrier-simulator/a.ts',
    "import '../../src/cloud-api/phone/part.ts';",
    'tools/carrier-simulator may not import cloud-api/phone/part.ts',
  ],
  ['src/contracts/a.ts', "import { hash } from 'node:crypto';", 'contracts imports node:crypto'],
  ['src/renderer/a.tsx', "import fs from 'node:fs';", 'renderer imports node:fs'],
  [
    'src/renderer/areas/phone/a.tsx',
    "import type { PhoneSearch } from '../../app/router.tsx';",
    'renderer/areas/phone may not import renderer/app/router.tsx',
  ],
  [
    'src/renderer/areas/tools/a.ts',
    "const words = () => import('../phone/phone-words.ts');",
    'renderer/areas/tools may not import renderer/areas/phone/phone-words.ts',
  ],
  [
    'src/renderer/ui/terminal/a.ts',
    "import type { Services } from '../../base/services.tsx';",
    'renderer/ui may not import renderer/base/services.tsx',
  ],
  ['src/renderer/ui/a.tsx', "import { Page } from '../page.tsx';", 'renderer/ui may not import renderer/page.tsx'],
  ['src/renderer/areas/a.ts', '', 'src/renderer/areas is no room of src/renderer'],
  [
    'src/runtime-server/agents/a/b.ts',
    "import type { Send } from '../../messaging/send.ts';",
    'runtime-server/agents may not import runtime-server/messaging/send.ts',
  ],
  [
    'src/runtime-server/panes/a.ts',
    "const send = await import('../messaging/send.ts');",
    'runtime-server/panes may not import runtime-server/messaging/send.ts',
  ],
  ['src/runtime-server/attic/a.ts', '', 'src/runtime-server/attic is no room of src/runtime-server'],
  ['src/host/a.ts', "import Database from 'better-sqlite3';", 'better-sqlite3 belongs to kit/store'],
  ['src/kit/a/b.ts', "import { x } from '../../../test/support/x.ts';", 'outside of src/'],
  ['src/runtime-server/a.ts', 'const now = Date.now();', 'uses Date.now()'],
  ['src/kit/lane/x.ts', 'return Math.random();', 'uses Math.random()'],
  ['src/cloud-api/a.ts', 'setInterval(sweep, 1000);', 'uses setInterval'],
  ['src/kit/a/b.ts', 'export default function x() {}', 'default export'],
  ['src/helpers/a.ts', '', 'src/helpers/a.ts is in no folder of the architecture'],
];

test.each(wrong.map(([path, text, problem]) => [path, problem, text] as const))('%s: %s', (path, problem, text) => {
  expect(problemsOf({ path, text }).join()).toContain(problem);
});

const right: [string, string][] = [
  [
    'src/renderer/areas/home/a.ts',
    "import { numberWords } from '../phone/phone-words.ts';\nimport type { Place } from '../../base/data/places.ts';",
  ],
  ['src/renderer/page.tsx', "import { createAppRouter } from './app/router.tsx';"],
  ['src/runtime-server/panes/b.ts', "import type { Hello } from '../../programs/pane-host/protocol.ts';"],
  ['tools/carrier-simulator/b.ts', "import { timers } from '../../src/kit/clock/timers.ts';"],
  ['src/runtime-server/messaging/a/b.ts', "export { c } from '../../agents/c.ts';\nimport { d } from '../d.ts';"],
  ['src/kit/a/b.ts', "// import { x } from '../../host/x.ts';\n/**\n * Never Date.now() here.\n */"],
  [
    'src/cli/a.ts',
    "import { start } from '../host/combined.ts';\nimport { z } from 'zod';\nimport { x } from 'node:fs';",
  ],
];

test.each(right)('%s may be so', (path, text) => {
  expect(problemsOf({ path, text })).toEqual([]);
});

test('all forms of import are read', () => {
  const text = `import a from 'a';
import type { B } from "b";
import 'c';
export { d } from 'd';
const e = await import('e');
import {
  f,
} from 'f';`;
  expect(importsOf(text)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});

test('a circle is found over any number of files, of types as of values, and one that imports itself', () => {
  const file = (path: string, ...to: string[]) => ({
    path,
    text: to.map((one) => `import type { X } from '${one}';`).join('\n'),
  });
  const files = [
    file('src/a.ts', './b/c.ts', 'zod'),
    file('src/b/c.ts', './d.ts'),
    file('src/b/d.ts', '../a.ts', './e.ts'),
    file('src/b/e.ts'),
    file('src/f.ts', './a.ts'),
    file('src/g.ts', './g.ts'),
  ];
  expect(circlesOf(files)).toEqual([['src/a.ts', 'src/b/c.ts', 'src/b/d.ts'], ['src/g.ts']]);
});

test('an export is in vain if nothing imports it by its name, unless its file is loaded whole or offered to others', () => {
  const files = [
    {
      path: 'src/kit/a.ts',
      text: 'export const used = 1;\nexport interface Own {}\nexport async function* flows() {}',
    },
    {
      path: 'src/kit/b.ts',
      text: "import { type Own as Its, used } from './a.ts';\nexport { used as passed } from './a.ts';",
    },
    { path: 'src/kit/c.ts', text: "export type Kind = 'c';" },
    { path: 'src/contracts/d.ts', text: 'export const promised = 1;' },
    { path: 'test/e.test.ts', text: "const c = await import('../src/kit/c.ts');\nexport const support = 1;" },
  ];
  expect(exportedInVain(files)).toEqual([
    'src/kit/a.ts: nothing imports flows',
    'src/kit/b.ts: nothing imports passed',
  ]);
});

test('a part that is reached before it is made is named, and one in order, or a property of its name, is not', () => {
  const text = `import { made } from './made.ts';
export function compose(deps: Deps) {
  const { first, other: renamed = 3 } = deps;
  const early = make({ first, late: () => late.get(), more: deps.more, shadow: (last) => last });
  const late: { last: string } = make({ early, renamed });
  const { more, ...last } = late;
  if (last) {
    const done = () => inner + end;
    const inner = 1;
  }
  return { early, more, end: () => below };
}
function another() {
  const first = late();
  return first;
}
const below = 1;
`;
  const late = (name: string) => `a.ts: ${name} is used before it is made`;
  expect(usedBeforeMade({ path: 'a.ts', text })).toEqual([late('late'), late('inner')]);
  const parts =
    'async function host() {\n  const end = () => store.close() + much;\n  const store = await openStore();\n  const much = 1;\n}\n';
  expect(usedBeforeMade({ path: 'a.ts', text: parts }, 'parts')).toEqual([late('store')]);
});

test('paths of the workplace are told from routes that look like them', () => {
  const place = (name: string) => `see /${name}/main`;
  expect(namesWorkplace(place('work'))).toBe(true);
  expect(namesWorkplace("`'/beta/work/queue'` and src/work/queue.ts")).toBe(false);
});
