/**
 * The rules of architecture and style as data, and the functions that find what breaks them. Pure: files in, sentences
 * out.
 */
import { dirname, normalize } from 'node:path/posix';
import { parseAst } from 'vite';

export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

interface FolderRule {
  /** Folders it may import besides itself. */
  readonly folders: readonly string[];
  /** Single files of other folders it may import: protocol files, and files made for it. */
  readonly files?: readonly string[];
  /** `node:` modules. Default: allowed. */
  readonly node?: false;
}

/** The folders of `src/`, and of `tools/`, and what each may import. A folder that is not listed here may not exist. */
export const folderRules: Readonly<Record<string, FolderRule>> = {
  contracts: { folders: [], node: false },
  kit: { folders: ['contracts'] },
  client: { folders: ['contracts'], node: false },
  'programs/pane-host': { folders: [] },
  'programs/converter': { folders: [], files: ['kit/process/frames.ts'] },
  'programs/executor': { folders: ['contracts', 'kit'] },
  'programs/computer-host': { folders: ['contracts', 'kit'] },
  'programs/computer-init': { folders: ['contracts', 'kit'] },
  'programs/sandbox-proxy': { folders: ['contracts', 'kit'] },
  'programs/sandbox-launch': { folders: [], files: ['kit/sandbox/launch-order.ts'] },
  'programs/acp-inside': { folders: [] },
  'programs/worker': { folders: ['contracts', 'kit', 'client'] },
  // The other side of the carrier's wire: it may not know the side that it stands in for.
  'tools/carrier-simulator': { folders: ['contracts', 'kit'] },
  'runtime-server': {
    folders: ['contracts', 'kit'],
    files: [
      'programs/pane-host/protocol.ts',
      'programs/converter/protocol.ts',
      'programs/executor/protocol.ts',
      'programs/sandbox-proxy/protocol.ts',
      'programs/acp-inside/protocol.ts',
    ],
  },
  'cloud-api': {
    folders: ['contracts', 'kit'],
    files: ['programs/computer-host/protocol.ts', 'programs/computer-init/protocol.ts'],
  },
  host: {
    folders: ['contracts', 'kit', 'runtime-server', 'cloud-api'],
    files: ['tools/carrier-simulator/protocol.ts'],
  },
  cli: {
    folders: ['client', 'contracts', 'host', 'programs/worker', 'programs/computer-host'],
    files: [
      // The token is read by the rules it was written by.
      'kit/secrets/token-file.ts',
      'kit/files/within.ts',
      // A bot as an agent for an editor.
      'kit/acp/stream.ts',
      'kit/clock/timers.ts',
      // What a bot reports is kept before it is sent.
      'kit/spool/bot-spool.ts',
      // The client of the hooks: `gantry hook` runs inside a bot's program and must load nothing else.
      'runtime-server/harness/hook-client.ts',
    ],
  },
  main: {
    folders: ['host', 'contracts', 'client'],
    // The log and the clock of a program, its private file, and a page that needs no server.
    files: ['kit/log/log.ts', 'kit/clock/clock.ts', 'kit/secrets/token-file.ts', 'kit/http/plain-page.ts'],
  },
  preload: { folders: ['host', 'contracts'] },
  renderer: {
    folders: ['client', 'contracts'],
    // The page that explains its words.
    files: ['docs/glossary.md?raw'],
    node: false,
  },
};

/**
 * The rooms inside of a folder of `src/`, the lowest first, each with those that it may import besides itself; types and what is loaded
 * later count, too. Files outside of every room are the folder's own entries and may import all of it.
 */
export const roomRules: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'runtime-server': runtimeRooms(),
  renderer: rendererRooms(),
};

/**
 * The runtime: each room imports only rooms before it. What a room needs from one above it is passed to it as a port, or published as an
 * event.
 */
function runtimeRooms(): Record<string, readonly string[]> {
  const order = [
    // What every part is given, and what the computer itself offers.
    ...['base', 'panes', 'events', 'link'],
    // How each agent program is driven, and which files decide what it runs.
    'harness',
    // What may be done, and who is asked.
    ...['policy', 'approvals', 'trust'],
    // What bots work with. Connectors and the phone declare as ports what they need of bots.
    ...['models', 'tool-server', 'computer-use', 'connectors', 'phone'],
    // Who takes part, and what is kept of their work.
    ...['parties', 'vault', 'tickets', 'agent-runs'],
    // Where bots in a sandbox may connect.
    'sandboxes',
    // Which bots exist, what they use, how they are reached, where else they run.
    ...['agents', 'usage', 'messaging', 'hosted-bots', 'acp-bots', 'peers'],
    // What they work on together, and the read models over all of it.
    ...['workflows', 'quick-runs', 'work-engine', 'reports', 'reading'],
  ];
  return Object.fromEntries(order.map((room, index) => [room, order.slice(0, index)]));
}

/**
 * The page: plain widgets, then what is read and kept, then the services, hooks and frames of every area, then the areas, then the frame
 * around them with the addresses and the palette. An area takes nothing from another one but what is stated here.
 */
function rendererRooms(): Record<string, readonly string[]> {
  const below = ['ui', 'base/data', 'base'];
  const areas: Readonly<Record<string, readonly string[]>> = {
    computers: [],
    docs: [],
    floor: [],
    inbox: [],
    ledger: [],
    pair: [],
    phone: [],
    queue: [],
    'set-up': [],
    tools: [],
    work: [],
    // A service is a tool server whose events are heard: it is called, tried and named as one.
    connectors: ['tools'],
    // What needs somebody, whichever part it comes from; and a message to a bot as it is sent from the floor.
    home: ['computers', 'floor', 'phone', 'set-up', 'tools'],
    // The first steps stay reachable there, and a bot that is held goes on as on the floor.
    settings: ['floor', 'set-up'],
  };
  const folderOf = (area: string): string => `areas/${area}`;
  return {
    // The service worker knows the contracts alone.
    worker: [],
    ui: [],
    'base/data': ['ui'],
    base: ['ui', 'base/data'],
    ...Object.fromEntries(
      Object.entries(areas).map(([area, others]) => [folderOf(area), [...below, ...others.map(folderOf)]]),
    ),
    app: [...below, ...Object.keys(areas).map(folderOf)],
  };
}

/** Packages with one home each: whoever else wants them goes through what that home offers. */
export const packageHomes: Readonly<Record<string, readonly string[]>> = {
  '@agentclientprotocol/sdk': ['kit/acp', 'runtime-server/acp-bots', 'cli/acp'],
  zod: [
    'contracts',
    'client',
    'kit',
    'programs/computer-host',
    'programs/worker',
    'runtime-server',
    'cloud-api',
    'host',
    'cli',
    'main',
    'renderer',
  ],
  'better-sqlite3': ['kit/store'],
  pg: ['kit/store'],
  ulid: ['kit/ids'],
  'ajv-formats': ['kit/schemas'],
  re2js: ['kit/schemas'],
  'find-my-way': ['kit/http'],
  'rate-limiter-flexible': ['kit/http'],
  'node-pty': ['programs/pane-host'],
  '@peculiar/x509': ['programs/sandbox-proxy'],
  'reflect-metadata': ['programs/sandbox-proxy'],
  '@xterm/headless': ['programs/pane-host', 'cli'],
  '@xterm/addon-serialize': ['programs/pane-host'],
  express: ['cloud-api', 'host'],
  yaml: ['kit', 'runtime-server'],
  commander: ['cli'],
  electron: ['main', 'preload'],
  'electron-updater': ['main'],
  '@opentelemetry/api': ['kit/telemetry'],
  '@opentelemetry/exporter-trace-otlp-http': ['kit/telemetry'],
  '@opentelemetry/resources': ['kit/telemetry'],
  '@opentelemetry/sdk-trace': ['kit/telemetry'],
};

/**
 * Time and chance are passed in, so that tests can move them. These files are where they enter, and programs that are
 * too small to be given them.
 */
const ambient: readonly { readonly pattern: RegExp; readonly what: string; readonly allowed: readonly string[] }[] = [
  {
    pattern: /\bDate\.now\(\)/,
    what: 'Date.now()',
    allowed: ['kit/clock/', 'programs/pane-host/', 'renderer/', 'cli/', 'main/'],
  },
  {
    pattern: /\bnew Date\(\)/,
    what: 'new Date()',
    allowed: ['kit/clock/', 'programs/pane-host/', 'renderer/', 'cli/', 'main/'],
  },
  { pattern: /\bMath\.random\(\)/, what: 'Math.random()', allowed: [] },
  {
    pattern: /\bsetInterval\(/,
    what: 'setInterval',
    allowed: ['kit/http/sse.ts', 'programs/pane-host/', 'programs/converter/watch.ts', 'renderer/', 'cli/', 'main/'],
  },
];

/** Module specifiers of static, type and dynamic imports and re-exports. */
export function importsOf(text: string): string[] {
  const code = withoutComments(text);
  const found = code.matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)['"]([^'"]+)['"]/g);
  return [...found].map((match) => match[1] as string);
}

/**
 * Groups of files that import each other, whether values or types; each in the order of its paths. Empty: there are none. What is
 * loaded while the program runs (`await import`) does not count: it waits for no file to be loaded before.
 */
export function circlesOf(files: readonly SourceFile[]): string[][] {
  const paths = new Set(files.map(({ path }) => path));
  const imports = new Map(
    files.map(({ path, text }) => {
      const inside = importsOf(text.replace(/\bimport\s*\(/g, '')).filter((specifier) => specifier.startsWith('.'));
      return [
        path,
        inside.map((specifier) => normalize(`${dirname(path)}/${specifier}`)).filter((to) => paths.has(to)),
      ];
    }),
  );
  const reached = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const next = [...(imports.get(from) ?? [])];
    for (let path = next.pop(); path !== undefined; path = next.pop()) {
      if (!seen.has(path)) next.push(...(imports.get(path) ?? []));
      seen.add(path);
    }
    return seen;
  };
  // What nothing imports, or imports nothing, is in no circle: without it, what is left is small.
  for (let before = -1; before !== imports.size; ) {
    before = imports.size;
    const imported = new Set([...imports.values()].flat());
    for (const [path, to] of imports) {
      if (!imported.has(path) || !to.some((one) => imports.has(one))) imports.delete(path);
    }
  }
  const inCircles = [...imports.keys()]
    .map((path) => [path, reached(path)] as const)
    .filter(([path, to]) => to.has(path));
  const groups = Map.groupBy(inCircles, ([path, to]) =>
    inCircles
      .filter(([other, back]) => to.has(other) && back.has(path))
      .map(([other]) => other)
      .sort()
      .join(),
  );
  return [...groups.values()].map((group) => group.map(([path]) => path).sort());
}

/**
 * Constants that a function uses before it has made them, if only in a function that is called later: its parts are not in the order in
 * which they need each other. `parts`: only constants that are parts, made by a call of `createX`, `composeX`, `openX` or `startX`.
 */
export function usedBeforeMade(file: SourceFile, which: 'all' | 'parts' = 'all'): string[] {
  const found = new Set<string>();
  const program = parseAst(file.text, { lang: file.path.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Syntax;
  // What a module makes is there before any of its functions is called.
  read(program, []);
  return [...found].map((name) => `${file.path}: ${name} is used before it is made`);

  function read(node: Syntax, scopes: readonly ReadonlyMap<string, number>[]): void {
    if (node.type === 'Identifier') {
      const at = scopes.findLast((scope) => scope.has(String(node.name)))?.get(String(node.name));
      if (at !== undefined && at > node.start) found.add(String(node.name));
      return;
    }
    const opens = /^(?:BlockStatement|For\w*Statement|CatchClause|ArrowFunctionExpression|Function\w+)$/.test(
      node.type,
    );
    const inside = opens ? [...scopes, madeIn(node, which)] : scopes;
    for (const [key, child] of Object.entries(node)) {
      // Names of properties, and types, are other things.
      const isName = (key === 'key' || key === 'property') && node.computed !== true && node.shorthand !== true;
      const isType = /^(?:typeAnnotation|typeArguments|typeParameters|returnType|superTypeArguments)$/.test(key);
      if (isName || isType) continue;
      for (const one of [child].flat()) if (isSyntax(one) && !/^TS(?:Type|Interface)/.test(one.type)) read(one, inside);
    }
  }
}

interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const isSyntax = (value: unknown): value is Syntax =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
const listOf = (value: unknown): readonly Syntax[] => [value].flat().filter(isSyntax);

/** The names that are made directly in a function, block or loop, and where each is. */
function madeIn(node: Syntax, which: 'all' | 'parts'): ReadonlyMap<string, number> {
  const statements = node.type === 'BlockStatement' ? listOf(node.body) : listOf([node.init, node.left].flat());
  const constants = statements
    .filter(({ type, kind }) => type === 'VariableDeclaration' && kind !== 'var')
    .flatMap((statement) => listOf(statement.declarations))
    .map(({ id, init, start }) => ({ id: id as Syntax, at: which === 'all' || isPart(init) ? null : start }))
    // Any other constant hides a part of that name, and is nobody's business here.
    .flatMap(({ id, at }) => namesIn(id).map(({ name, start }) => [String(name), at === null ? start : -1] as const));
  const parameters = [...listOf(node.params), ...listOf(node.param)].flatMap(namesIn);
  // A function's own name stands before its parameters, which are there from its beginning.
  return new Map([...parameters.map(({ name }) => [String(name), -1] as const), ...constants]);
}

function isPart(init: unknown): boolean {
  const [made] = listOf(init);
  const call = made?.type === 'AwaitExpression' ? listOf(made.argument)[0] : made;
  return (
    call?.type === 'CallExpression' && /^(?:create|compose|open|start)[A-Z]/.test(String(listOf(call.callee)[0]?.name))
  );
}

/** The names in a pattern: `a`, `{ b: c = 1 }`, `[d, ...e]`. */
function namesIn(pattern: Syntax): readonly Syntax[] {
  if (pattern.type === 'Identifier') return [pattern];
  const parts = [pattern.left, pattern.argument, pattern.elements, pattern.properties, pattern.parameter].flat();
  const values = pattern.type === 'Property' ? [pattern.value] : parts;
  return listOf(values).flatMap(namesIn);
}

/**
 * Folders whose exports need no importer: what Gantry promises is written down whole, and the client is what programs of others import.
 */
const offered = ['src/contracts/', 'src/client/'];

/** Names that a file of `src/` or `tools/` exports and no other file imports. Whoever loads a whole file (`import *`, `import()`) uses all of it. */
export function exportedInVain(files: readonly SourceFile[]): string[] {
  const taken = new Set<string>();
  const whole = new Set<string>();
  for (const { path, text } of files) {
    const code = withoutComments(text);
    const target = (specifier: string) => normalize(`${dirname(path)}/${specifier}`);
    for (const [, names = '', from = ''] of code.matchAll(
      /\b(?:im|ex)port\s[^{;'"]*\{([^}]*)\}\s*from\s*['"](\.[^'"]+)/g,
    )) {
      for (const name of names.split(',')) {
        taken.add(
          `${target(from)} ${name
            .trim()
            .replace(/^type\s+/, '')
            .replace(/\s+as\s.*$/, '')}`,
        );
      }
    }
    const loads = /(?:\*\s+(?:as\s+\w+\s+)?from\s*|\bimport\s*\(\s*|new URL\(\s*)['"](\.[^'"]+)/g;
    for (const [, from = ''] of code.matchAll(loads)) whole.add(target(from));
  }
  return files
    .filter(
      ({ path }) =>
        /^(?:src|tools)\//.test(path) && !offered.some((folder) => path.startsWith(folder)) && !whole.has(path),
    )
    .flatMap(({ path, text }) => {
      const code = withoutComments(text);
      const made = /^export (?:(?:abstract|async|declare) )*(?:const|let|function\*?|class|interface|type) (\w+)/gm;
      const passedOn = [...code.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
        names.split(',').flatMap((name) => name.trim().split(/\s+/).at(-1) || []),
      );
      const names = [...[...code.matchAll(made)].map((match) => match[1] as string), ...passedOn];
      return names.filter((name) => !taken.has(`${path} ${name}`)).map((name) => `${path}: nothing imports ${name}`);
    });
}

/** Good enough for our own formatted sources: no string in them looks like a comment's begin at a line's start. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '');
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Where a file stands, without `src/`; what is in `tools/` keeps its name. */
export const insideOf = (path: string): string => path.replace(/^src\//, '');

/** The folder of the table that a file is in. */
const folderOf = (inside: string): string | undefined =>
  Object.keys(folderRules).find((folder) => inside.startsWith(`${folder}/`));

/** What is wrong with one file of `src/` or `tools/`. */
export function problemsOf(file: SourceFile): string[] {
  const inside = insideOf(file.path);
  const folder = folderOf(inside);
  const rule = folderRules[folder ?? ''];
  if (folder === undefined || rule === undefined)
    return [`${file.path} is in no folder of the architecture: docs/architecture.md says what belongs where`];
  return [
    ...strayProblem(inside, folder),
    ...importsOf(file.text).flatMap((specifier) => importProblem(file.path, folder, rule, specifier)),
    ...ambientProblems(inside, file.text),
    ...(/^export default\b/m.test(file.text) ? [`${file.path}: has a default export`] : []),
  ].map((problem) => (problem.startsWith(file.path) ? problem : `${file.path}: ${problem}`));
}

function importProblem(path: string, folder: string, rule: FolderRule, specifier: string): string[] {
  const inside = insideOf(path);
  if (specifier.startsWith('node:')) return rule.node === false ? [`${folder} imports ${specifier}`] : [];
  if (!specifier.startsWith('.')) {
    const homes = packageHomes[packageName(specifier)];
    const home = homes === undefined || homes.some((place) => inside.startsWith(`${place}/`));
    return home ? [] : [`${packageName(specifier)} belongs to ${homes?.join(', ')}`];
  }
  const target = insideOf(normalize(`${dirname(path)}/${specifier}`));
  if (rule.files?.includes(target)) return [];
  const other = folderOf(target);
  if (other === undefined) return [`imports ${specifier}, outside of src/`];
  if (other === folder) return roomProblem(inside, folder, target);
  if (rule.folders.includes(other)) return [];
  return [`${folder} may not import ${target}`];
}

function roomProblem(inside: string, folder: string, target: string): string[] {
  const rooms = roomRules[folder] ?? {};
  const from = roomOf(inside);
  const to = roomOf(target);
  if (from === null || from === to || (to !== null && rooms[from]?.includes(to))) return [];
  return [`${folder}/${from} may not import ${target}`];
}

/** The room that a file of `src/` is in; null: in none. */
export function roomOf(inside: string): string | null {
  const [folder = '', ...parts] = inside.split('/').slice(0, -1);
  const rooms = roomRules[folder] ?? {};
  const folders = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
  return folders.find((one) => Object.hasOwn(rooms, one)) ?? null;
}

/** In a folder that has rooms, only its own entries stand outside of them. */
function strayProblem(inside: string, folder: string): string[] {
  const stray = roomRules[folder] !== undefined && roomOf(inside) === null && dirname(inside) !== folder;
  return stray
    ? [`src/${dirname(inside)} is no room of src/${folder}: add it to the rooms in test/architecture/rules.ts`]
    : [];
}

function ambientProblems(inside: string, text: string): string[] {
  const code = withoutComments(text);
  return ambient
    .filter(({ pattern, allowed }) => pattern.test(code) && !allowed.some((place) => inside.startsWith(place)))
    .map(({ what }) => `uses ${what}: take a clock, timers or random as an argument`);
}

/** Paths of the place where Gantry was built have no business in it. */
const workplace = new RegExp(`(?:^|[\\s'"\`(=:])/(?:wo${'rk'}|tmp/br${'ief'})/`, 'm');

export function namesWorkplace(text: string): boolean {
  return workplace.test(text);
}
