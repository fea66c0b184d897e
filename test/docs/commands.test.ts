/**
 * The commands of the pages, run as they stand: in the order of a page, in a shell, against a Gantry in an empty home with the demo team.
 * What cannot be run so says why above it (test/docs/blocks.ts).
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshBuild } from '../support/fresh-build.ts';
import { inOrder, type Script, text, tools } from '../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../support/model-server/server.ts';
import { type Block, blocksOf, pages, root } from './blocks.ts';

const built = freshBuild();
const main = built === null ? join(root, 'src', 'cli', 'main.ts') : join(built, 'server', 'cli.js');
const folder = mkdtempSync(join(tmpdir(), 'gantry-docs-'));
const workspace = join(folder, '.gantry', 'workspace');
/** Where a page stands in a clone: what its commands write there stays out of this one. */
const clone = join(folder, 'clone');
const bin = join(folder, 'bin');
const env = {
  ...process.env,
  HOME: folder,
  GANTRY_HOME: join(folder, '.gantry'),
  GANTRY_PORT: '0',
  GANTRY_ENGINE_PORT: '0',
  PATH: `${bin}:${process.env.PATH ?? ''}`,
};
const started = join(folder, 'started.json');
/** The model on this computer that pages name. */
let models: ModelServer | undefined;

/** What the three bots of the tutorial answer; every other bot says "ok". */
const mended = readFileSync(join(root, 'sample', 'wordcount', 'src', 'top.js'), 'utf8')
  .replace('limit = 10)', 'limit = 10, shortest = 0)')
  .replace('[...counts]', '[...counts]\n    .filter(([word]) => word.length >= shortest)');
const work = inOrder(
  tools({ name: 'file_write', input: { path: 'wordcount/src/top.js', content: mended } }),
  tools({ name: 'node_done', input: { output: 'topWords takes the shortest length.' } }),
  text('Done.'),
);
const report = (words: string): Script =>
  inOrder(tools({ name: 'node_done', input: { output: words } }), text('Done.'));
const tutorial: readonly (readonly [asked: string, script: Script])[] = [
  ['Let topWords leave out short words', work],
  ['What could this change break?', report('Nothing: the new argument is optional.')],
  ['in one line of release notes', report('topWords can leave out short words.')],
];
const mendOrAnswer: Script = (request) => {
  const body = JSON.stringify(request.body);
  return tutorial.find(([asked]) => body.includes(asked))?.[1](request) ?? text('ok');
};

/**
 * `gantry` and `npx gantry` as after a clone; npx fetches nothing. `start` goes into the background, on ports that are free, and returns
 * once the address is printed: a person types the next command in a second terminal. `trust` is answered as by a person who is shown all of it
 * and says yes.
 */
function writeCommands(): void {
  mkdirSync(bin);
  const gantry = join(bin, 'gantry');
  writeFileSync(
    gantry,
    `#!/bin/bash
if [ "$1" = start ]; then
  shift
  rm -f '${started}'
  setsid '${process.execPath}' '${main}' start --headless --json --port 0 --engine-port 0 --workspace '${workspace}' "$@" \
    > '${started}' 2> '${started}.err' < /dev/null &
  until [ -s '${started}' ]; do kill -0 $! || { cat '${started}.err' >&2; exit 1; }; sleep 0.1; done
  exit 0
fi
if [ "$*" = trust ]; then
  hash=$('${process.execPath}' '${main}' trust --json | '${process.execPath}' -p 'JSON.parse(require("fs").readFileSync(0)).hash')
  exec '${process.execPath}' '${main}' trust --yes "$hash"
fi
exec '${process.execPath}' '${main}' "$@"
`,
  );
  writeFileSync(
    join(bin, 'npx'),
    `#!/bin/sh\n[ "$1" = gantry ] || { echo "npx $1 is not run here" >&2; exit 9; }\nshift\nexec '${gantry}' "$@"\n`,
  );
  for (const name of ['gantry', 'npx']) chmodSync(join(bin, name), 0o755);
}

const origin = (): string => new URL((JSON.parse(readFileSync(started, 'utf8')) as { url: string }).url).origin;

function shell(text: string, cwd = workspace): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(
      'bash',
      // Without it bash reads the system's settings where its input is a socket, as it is here.
      ['--norc', '-e', '-u', '-o', 'pipefail', '-c', text],
      { env, cwd, timeout: 100_000 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out: `${stdout}${stderr}` });
      },
    );
  });
}

beforeAll(async () => {
  if (process.platform !== 'linux') return;
  writeCommands();
  mkdirSync(env.GANTRY_HOME, { mode: 0o700 });
  mkdirSync(workspace);
  mkdirSync(clone);
  symlinkSync(join(root, 'examples'), join(clone, 'examples'));
  writeFileSync(join(folder, '.gitconfig'), '[user]\nname = Ada\nemail = ada@example.org\n');
  models = await startModelServer(mendOrAnswer);
  // The servers of one's own that the page on models names, and the team that pages use beside the demo.
  const page = blocksOf('docs/models.md').find(({ text }) => text.includes('"ollama": {'));
  const settings = page?.text.replace('http://127.0.0.1:11434', models.url) ?? '';
  writeFileSync(join(env.GANTRY_HOME, 'settings.json'), settings, { mode: 0o600 });
  const crew = join(workspace, '.gantry', 'teams', 'crew');
  mkdirSync(crew, { recursive: true });
  cpSync(join(root, 'docs', 'examples', 'hosted-team.yaml'), join(crew, 'team.yaml'));
  const { code, out } = await shell('gantry start');
  if (code !== 0) throw new Error(`Gantry did not start: ${out}`);
  // A person looks at the team that was put there, and says yes to it.
  const { waits } = JSON.parse(readFileSync(started, 'utf8')) as { waits: { hash: string } };
  const trusted = await shell(`gantry trust --yes ${waits.hash}`);
  if (trusted.code !== 0) throw new Error(trusted.out);
});
afterAll(async () => {
  await shell('gantry stop --all');
  await models?.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const isRun = ({ language, notRun, readAs }: Block): boolean =>
  (language === '' || language === 'sh') && notRun === null && readAs === null;

/** The README first: it sets up what the others use. */
const order = ['README.md', ...pages.filter((file) => file !== 'README.md')];

/** The session is kept by bash, setsid and curl. */
const hasShell = process.platform === 'linux';

/** Why a block cannot be run here; empty where it can. */
function missing({ needs }: Block): string {
  if (!hasShell) return ' (needs Linux)';
  const found = needs === null || (process.env.PATH ?? '').split(delimiter).some((one) => existsSync(join(one, needs)));
  return found ? '' : ` (there is no ${needs} here)`;
}

/** What a reader puts in place of `<run>`: the id that was printed last. */
let lastRun = '';

for (const block of order.flatMap(blocksOf).filter(isRun)) {
  const { at, file, text, without } = block;
  const why = missing(block);
  test.skipIf(why !== '')(`${at} runs as it stands${why}`, { timeout: 120_000 }, async () => {
    const left = (without ?? '')
      .replace(/\(.*?\)/g, ',')
      .split(',')
      .map((words) => words.trim())
      .filter((words) => words !== '');
    const lines = text.split('\n').filter((line) => !left.some((words) => line.includes(words)));
    const inClone = file.startsWith('examples/') || file === 'docs/tutorial.md';
    const words = lines.join('\n').replaceAll('http://127.0.0.1:3010', origin()).replaceAll('<run>', lastRun);
    const { code, out } = await shell(words, inClone ? clone : workspace);
    expect(code, out).toBe(0);
    lastRun = /\bdag_\w+/.exec(out)?.[0] ?? lastRun;
  });
}

test.skipIf(!hasShell)('the bot of examples/local-model asks the model on this computer (needs Linux)', async () => {
  const asked = () => models?.requests.some(({ lastUser }) => lastUser.includes('Which files are here?'));
  await expect.poll(asked).toBe(true);
});
