/**
 * `npm test`: types, lint, unit, contract, integration and browser tests. `npm test -- all` adds the suites for which that has no
 * time, and the short faults and benches, which need the machine for themselves; `.ci/run` does so. Closes with counts by area, a line for each skip with its
 * reason, one for each test that passed only once in two runs, one for each figure of the bench that missed its bound, and `N passed, N failed, N skipped`.
 * `npm test -- lint unit` runs only these steps; `npm test -- --list` names them. `--minutes 70`: suites and benches that would begin later are skipped, aloud.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { findNode, root } from './node-runtime.mjs';
import { filesToRunAgain, joinRuns } from './twice.mjs';

const node = findNode() ?? process.execPath;
const bin = (packageName, file) => [node, join(root, 'node_modules', packageName, file)];
/** Where the reporter writes what it counted; made when the first step runs. */
let counts = '';
const vitest = [
  ...bin('vitest', 'vitest.mjs'),
  'run',
  '--reporter=dot',
  `--reporter=${join(root, 'scripts/count-reporter.mjs')}`,
];
/** area → {passed, failed, skipped} */
const areas = new Map();
const skips = [];
const failures = [];
const unstable = [];
/** Figures of the bench beyond their bound. */
const missed = [];

const steps = [
  {
    name: 'types',
    run: async () =>
      // One checker each: four of them do nearly twice the work, much of it the same.
      check(
        'types',
        ...['tsconfig.servers.json', 'tsconfig.renderer.json', 'tsconfig.worker.json', 'test/e2e/tsconfig.json'].map(
          (project) => [...bin('typescript', 'bin/tsc'), '--checkers', '1', '-p', project],
        ),
      ),
  },
  {
    name: 'lint',
    run: async () => check('lint', [...bin('@biomejs/biome', 'bin/biome'), 'check', '--error-on-warnings', '.']),
  },
  { name: 'build', run: async () => check('build', [node, 'scripts/bootstrap.mjs', 'start']) },
  { name: 'unit', run: () => tests(['unit']) },
  { name: 'e2e', run: () => withBrowser(['e2e']) },
  { name: 'faults', run: () => figures('faults') },
  { name: 'suites', run: () => suites() },
  { name: 'bench', run: () => figures('bench') },
];
const filesOfPart = 20;
const outOfTime = 'no time was left';
/** Not in a plain `npm test`. */
const apart = ['faults', 'suites', 'bench'];

const given = process.argv.slice(2);
const limit = given.indexOf('--minutes');
const minutes = limit < 0 ? Number.POSITIVE_INFINITY : Number(given.splice(limit, 2)[1]);
const until = Date.now() + minutes * 60_000;
const names = given.filter((word) => !word.startsWith('-'));
const unknown = names.filter((name) => name !== 'all' && !steps.some((step) => step.name === name));
if (given.includes('--list')) {
  console.log(steps.map((step) => step.name).join('\n'));
} else if (Number.isNaN(minutes)) {
  console.error('--minutes needs a number, such as --minutes 70');
  process.exitCode = 64;
} else if (unknown.length > 0) {
  console.error(`There is no step ${unknown.join(', ')}. Steps: ${steps.map((step) => step.name).join(', ')}, or all`);
  process.exitCode = 64;
} else {
  process.exitCode = await main(steps.filter(({ name }) => isWanted(name)));
}

function isWanted(name) {
  if (names.includes('all') || names.includes(name)) return true;
  return names.length === 0 && !apart.includes(name);
}

async function main(chosen) {
  const scratch = mkdtempSync(join(tmpdir(), 'gantry-counts-'));
  counts = join(scratch, 'counts');
  try {
    for (const step of together(chosen)) {
      const started = performance.now();
      console.log(`\n== ${step.name}`);
      await step.run();
      console.log(`== ${step.name} took ${((performance.now() - started) / 1000).toFixed(1)} s`);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return close();
}

/**
 * What is done at once. Unit tests wait for programs, browser tests and checks compute: in one run they fill the cores better than one
 * after the other. The build comes first: the browser's tests start what it made.
 */
function together(chosen) {
  return joined(chosen, ['types', 'lint', 'build', 'unit', 'e2e'], async (those) => {
    const runs = (name) => steps.find((step) => step.name === name).run();
    if (those.includes('build')) await runs('build');
    const tested = those.filter((name) => ['unit', 'e2e'].includes(name));
    const checked = those.filter((name) => ['types', 'lint'].includes(name));
    const testing = tested.length > 1 ? [withBrowser(tested)] : tested.map(runs);
    await Promise.all([...testing, ...checked.map(runs)]);
  });
}

/** Makes one step of those of `names` that were chosen; they stand side by side. */
function joined(chosen, names, run) {
  const found = names.filter((name) => chosen.some((step) => step.name === name));
  if (found.length < 2) return chosen;
  const first = chosen.findIndex((step) => step.name === found[0]);
  return chosen.toSpliced(first, found.length, { name: found.join(', '), run: () => run(found) });
}

function note(area, state, name, why) {
  const row = areas.get(area) ?? { passed: 0, failed: 0, skipped: 0 };
  row[state] += 1;
  areas.set(area, row);
  if (state === 'skipped') skips.push(`${area}: ${name}: ${why}`);
  if (state === 'failed') failures.push(`${area}: ${name}`);
}

/** Each command must end with 0; together they are one passed or failed check. They run at once. */
async function check(area, ...commands) {
  const ends = await Promise.all(commands.map((command) => run(command)));
  const failed = commands.filter((_, index) => ends[index].code !== 0);
  if (failed.length === 0) return note(area, 'passed', area);
  note(area, 'failed', failed.map((command) => command.slice(1).join(' ').replaceAll(`${root}/`, '')).join('; '));
}

/** With a limit of time in parts, of which none begins after it; each has files of every area. */
async function suites() {
  if (minutes === Number.POSITIVE_INFINITY) return withBrowser(['suites']);
  const [command, ...words] = [...bin('vitest', 'vitest.mjs'), 'list', '--project', 'suites', '--filesOnly', '--json'];
  const listed = JSON.parse(execFileSync(command, words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 24 }));
  const files = listed.map(({ file }) => relative(root, file));
  const parts = Math.ceil(files.length / filesOfPart);
  for (let part = 0; part < parts; part += 1) {
    const those = files.filter((_, index) => index % parts === part);
    if (Date.now() < until) await withBrowser(['suites'], those);
    else for (const file of those) note('suites', 'skipped', file, outOfTime);
  }
}

async function tests(projects, env = {}, files = []) {
  const place = placeFor(projects);
  try {
    await testsIn(projects, place === null ? env : { ...env, TMPDIR: place }, files);
  } finally {
    // What a test left there would hold memory.
    if (place !== null) removed(place);
  }
}

function removed(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  } catch (error) {
    console.error(`${folder} could not be removed (${error.message}).`);
  }
}

async function testsIn(projects, env, files) {
  const words = projects.flatMap((name) => ['--project', name]);
  const first = await counted([...words, '--passWithNoTests', ...files], env);
  const again = filesToRunAgain(first.rows);
  const second = again.length > 0 ? await counted([...words, '--maxWorkers=1', ...again], env) : { rows: [] };
  const joined = joinRuns(first.rows, second.rows);
  for (const row of joined.rows) note(areaOf(row.file), row.state, row.name, row.note ?? reasonIn(row.name));
  for (const row of joined.unstable) unstable.push(`${areaOf(row.file)}: ${row.name}: ${row.message}`);
  // vitest itself failed (a config, a crash of a worker) without any test to name.
  if (first.code !== 0 && !first.rows.some((row) => row.state === 'failed'))
    note(projects.join(' and '), 'failed', `vitest ended with ${first.code}`);
}

/**
 * What a test writes is gone with it. Where there is memory in plenty it never reaches a disk, and nobody waits until one has it; with the
 * suites, which also fill and look at disks, all of it does.
 */
function placeFor(projects) {
  const room = 6 * 2 ** 30;
  if (process.platform !== 'linux' || process.env.TMPDIR !== undefined || projects.includes('suites')) return null;
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    // A short name: the address of a socket in it may not be long.
    if (bavail * bsize < room || freemem() < room) return null;
    const folder = mkdtempSync('/dev/shm/g');
    // PostgreSQL works as a user of its own, and reads files in it by their names.
    chmodSync(folder, 0o711);
    return folder;
  } catch {
    return null;
  }
}

/** One run of vitest: how it ended, and the reporter's row of each test. */
async function counted(words, env) {
  writeFileSync(counts, '');
  const { code } = await run([...vitest, ...words], { GANTRY_TEST_COUNTS: counts, ...env });
  const lines = readFileSync(counts, 'utf8').split('\n').filter(Boolean);
  return { code, rows: lines.map((line) => JSON.parse(line)) };
}

/** A test that is skipped as a whole names its reason in its own name: `… (needs strace)`. */
function reasonIn(name) {
  return /\((needs [^)]+)\)/.exec(name)?.[1] ?? 'no reason was given';
}

/** These projects in one run; where there is no browser, those that need none. */
async function withBrowser(projects, files = []) {
  const chromium = findChromium();
  if (chromium === null) {
    note(
      'e2e',
      'skipped',
      `all tests of ${projects.filter((name) => name !== 'unit').join(' and ')}`,
      'no Chromium was found; install chromium or set GANTRY_CHROMIUM to its program',
    );
    const others = projects.filter((name) => name === 'unit');
    if (others.length > 0) await tests(others);
    return;
  }
  await tests(projects, { GANTRY_CHROMIUM: chromium }, files);
}

/**
 * One JSON line a figure; `ok: null` means that it could not be measured, with `why`. A fault fails the run, and so does what the bench counts. What it
 * times is only told: how long something takes says as much of the machine as of Gantry, so its bound is for who reads it on a quiet one.
 */
async function figures(kind) {
  const first = await measured(kind, []);
  const beyond = first.list.filter((one) => one.ok === false).map((one) => one.figure);
  // Something else may have had the machine meanwhile.
  const again = kind === 'bench' && beyond.length > 0 && Date.now() < until ? (await measured(kind, beyond)).list : [];
  for (const one of first.list) {
    const figure = again.find(({ figure: name, ok }) => name === one.figure && ok !== null) ?? one;
    const before = figure === one ? '' : ` (measured again; at first it was ${one.value})`;
    const why = [...(figure.problems ?? []).slice(0, 5), ...(figure.value === null ? [figure.why] : [])].join('; ');
    const words = `${figure.figure} is ${figure.value} ${figure.unit}, bound ${figure.bound}${before}${why && `: ${why}`}`;
    if (figure.ok === null) note(kind, 'skipped', figure.figure, figure.why ?? 'no reason was given');
    else if (figure.ok || figure.value === null || kind === 'faults' || figure.bound.startsWith('=='))
      note(kind, figure.ok ? 'passed' : 'failed', words);
    else missed.push(words);
  }
  if (first.code !== 0 && beyond.length === 0) note(kind, 'failed', `${kind} ended with ${first.code}`);
}

async function measured(kind, figureNames) {
  const env = minutes === Number.POSITIVE_INFINITY ? {} : { GANTRY_BENCH_UNTIL: String(until) };
  const { code, output } = await run(
    [node, `test/${kind}/run.ts`, '--quick', ...figureNames],
    kind === 'bench' ? env : {},
    true,
  );
  const lines = output.split('\n').filter((one) => one.startsWith('{'));
  return { code, list: lines.map((line) => JSON.parse(line)) };
}

function findChromium() {
  const folders = (process.env.PATH ?? '').split(':');
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const found = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  const mac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
  return [process.env.GANTRY_CHROMIUM, ...found, mac].find((file) => file && existsSync(file)) ?? null;
}

function areaOf(file) {
  const [, first = 'test', second, third] = file.split('/');
  const grouped = ['kit', 'programs', 'runtime-server', 'cloud-api'].includes(first) && third !== undefined;
  return grouped ? `${first}/${second}` : first;
}

function run([command, ...args], env = {}, keep = false) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', keep ? 'pipe' : 'inherit', 'inherit'],
    });
    let output = '';
    child.stdout?.on('data', (data) => {
      output += data;
      process.stdout.write(data);
    });
    child.on('error', (error) => {
      console.error(error.message);
      resolve({ code: 127, output });
    });
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

function close() {
  const total = { passed: 0, failed: 0, skipped: 0 };
  console.log('');
  const width = Math.max(0, ...[...areas.keys()].map((area) => area.length));
  for (const [area, row] of [...areas].sort(([a], [b]) => a.localeCompare(b))) {
    for (const state of Object.keys(total)) total[state] += row[state];
    console.log(`${area.padEnd(width)}  ${row.passed} passed, ${row.failed} failed, ${row.skipped} skipped`);
  }
  for (const failure of failures) console.log(`FAILED  ${failure}`);
  for (const one of unstable) console.log(`UNSTABLE ${one}`);
  for (const one of missed) console.log(`MISSED  bench: ${one}`);
  for (const skip of skips) console.log(`SKIPPED ${skip}`);
  if (names.length === 0) console.log(`NOT RUN ${apart.join(', ')} (npm test -- all)`);
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
}
