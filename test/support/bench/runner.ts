/**
 * The command behind `npm run bench` and `npm run faults`: finds figures, runs those named, one JSON line each on stdout.
 * Both commands know all names; without names each runs its own kind.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Figure, type FigureLine, type FigureModule, measure } from './figure.ts';

export type Kind = 'bench' | 'faults';

export interface FoundFigure {
  readonly kind: Kind;
  readonly figure: Figure;
}

/** All figures under `<root>/bench/<area>/*.ts` and `<root>/faults/<area>/*.ts`, sorted by name. */
export async function findFigures(root: string): Promise<FoundFigure[]> {
  const found: FoundFigure[] = [];
  for (const kind of ['bench', 'faults'] as const) {
    const folder = join(root, kind);
    for (const area of readdirSync(folder, { withFileTypes: true })) {
      if (!area.isDirectory()) continue;
      for (const file of readdirSync(join(folder, area.name))) {
        if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
        const module = (await import(pathToFileURL(join(folder, area.name, file)).href)) as Partial<FigureModule>;
        for (const figure of module.figures ?? []) found.push({ kind, figure });
      }
    }
  }
  return found.sort((a, b) => a.figure.name.localeCompare(b.figure.name));
}

export function readBounds(root: string): Record<string, string> {
  return JSON.parse(readFileSync(join(root, 'bench', 'bounds.json'), 'utf8')) as Record<string, string>;
}

export interface RunnerArguments {
  readonly names: readonly string[];
  readonly list: boolean;
  readonly quick: boolean;
}

export function parseArguments(argv: readonly string[]): RunnerArguments {
  const names = argv.filter((argument) => !argument.startsWith('--'));
  const unknown = argv.filter((argument) => argument.startsWith('--') && !['--list', '--quick'].includes(argument));
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')} is not an option. Options: --list, --quick.`);
  return { names, list: argv.includes('--list'), quick: argv.includes('--quick') };
}

/** Figures that a name means: itself, or all of an area. */
export function select(all: readonly FoundFigure[], names: readonly string[], kind: Kind): FoundFigure[] {
  if (names.length === 0) return all.filter((found) => found.kind === kind);
  const chosen = new Set<FoundFigure>();
  for (const name of names) {
    const exact = all.filter((found) => found.figure.name === name);
    const area = all.filter((found) => found.kind === kind && found.figure.name.startsWith(`${name}.`));
    const matches = exact.length > 0 ? exact : area;
    if (matches.length === 0) throw new Error(`No figure is called ${name}. --list names them all.`);
    for (const match of matches) chosen.add(match);
  }
  return [...chosen];
}

/** `GANTRY_BENCH_UNTIL`, in milliseconds since the epoch: a figure that would begin later is not measured. */
function isLate(): boolean {
  const until = process.env.GANTRY_BENCH_UNTIL;
  return until !== undefined && Date.now() > Number(until);
}

function skipped({ name }: Figure, bound: string): FigureLine {
  const why = `no time was left; measure it with: npm run bench -- ${name}`;
  return { figure: name, value: null, unit: '', bound, ok: null, n: 0, at: '', why };
}

/** Runs the command and answers its exit code: 0 when no figure missed its bound, 1 when one did, 64 for wrong arguments. */
export async function runFigures(kind: Kind, root: string, argv: readonly string[]): Promise<number> {
  const log = (text: string) => process.stderr.write(`${text}\n`);
  try {
    const options = parseArguments(argv);
    const all = await findFigures(root);
    if (options.list) {
      for (const found of all) process.stdout.write(`${found.figure.name}\n`);
      return 0;
    }
    const bounds = readBounds(root);
    const queue = select(all, options.names, kind);
    let missed = false;
    const run = async () => {
      for (let found = queue.shift(); found !== undefined; found = queue.shift()) {
        const { figure } = found;
        const bound = bounds[figure.name];
        if (bound === undefined) throw new Error(`bounds.json has no bound for ${figure.name}.`);
        log(`${figure.name} (bound ${bound}) …`);
        const line = isLate() ? skipped(figure, bound) : await measure(figure, bound, { quick: options.quick, log });
        process.stdout.write(`${JSON.stringify(line)}\n`);
        missed ||= line.ok === false;
      }
    };
    // A measurement has the machine to itself. Faults are counted, and their programs mostly wait, so short ones run two at a time.
    await Promise.all(Array.from({ length: kind === 'faults' && options.quick ? 2 : 1 }, run));
    return missed ? 1 : 0;
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    return 64;
  }
}
