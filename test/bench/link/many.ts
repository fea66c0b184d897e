/**
 * What ten thousand links cost the cloud: memory and descriptors of each while nothing moves, and a call through one of them against a call through one of
 * ten. Three programs: the cloud, a second cloud with ten, and all the computers of each in one.
 */
import { fileURLToPath } from 'node:url';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { maxFiles, pssMb } from '../../support/bench/processes.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [
  { name: 'link.many', run: memory },
  { name: 'link.many.files', run: files },
  { name: 'link.many.call', run: calls },
];

const many = { quick: 1_000, full: 10_000 };
const few = 10;
/** Files that a program has open besides its links. */
const otherFiles = 200;

const cloudProgram = fileURLToPath(new URL('../../support/victims/link-cloud.ts', import.meta.url));
const computersProgram = fileURLToPath(new URL('../../support/victims/link-computers.ts', import.meta.url));

interface Held {
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
  readonly files: number;
}

interface World {
  readonly cloud: Victim;
  readonly computers: Victim;
  /** Of either end: one link's share of what came with all. */
  readonly share: Readonly<
    Record<'cloud' | 'computer', { readonly pss: number; readonly heap: number; readonly files: number }>
  >;
  close(): Promise<void>;
}

/** Asks one question, which the next line answers. */
function ask<T>(program: Victim, question: string): Promise<T> {
  const before = program.lines.length;
  program.child.stdin?.write(`${question}\n`);
  return program.until((line) => program.lines.indexOf(line, before) >= before).then((line) => JSON.parse(line) as T);
}

async function setUp(links: number, log: FigureOptions['log']): Promise<World> {
  const token = newToken();
  const node = [process.execPath, '--expose-gc'] as const;
  const cloud = startVictim({ command: [...node, cloudProgram, token, String(links)] });
  const programs = [cloud];
  const close = async () => {
    for (const program of programs.reverse()) await program.kill();
  };
  try {
    const port = await cloud.until((line) => /^\d+$/.test(line));
    const begin = await measured(cloud);
    const url = `http://127.0.0.1:${port}`;
    const computers = startVictim({ command: [...node, computersProgram, url, token, String(links)] });
    programs.push(computers);
    await computers.until((line) => /^\d+$/.test(line));
    const beginThere = await measured(computers);
    const began = performance.now();
    await computers.until((line) => line === '"linked"');
    log(`${links} links after ${rounded((performance.now() - began) / 1000, 1)} s`);
    const end = await measured(cloud);
    const endThere = await measured(computers);
    const shareOf = (from: Measure, to: Measure) => ({
      pss: ((to.pss - from.pss) * 1000) / links,
      heap: (to.heapUsed + to.external - from.heapUsed - from.external) / 1000 / links,
      files: (to.files - from.files) / links,
    });
    return { cloud, computers, share: { cloud: shareOf(begin, end), computer: shareOf(beginThere, endThere) }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Measure = Held & { readonly pss: number };

async function measured(program: Victim): Promise<Measure> {
  const held = await ask<Held>(program, 'state');
  return { ...held, pss: pssMb(program.pid) };
}

/** Null: so many links are more than a program may open files here. */
function linksToMake(quick: boolean): { readonly links: number; readonly why: string | null } {
  const links = many[quick ? 'quick' : 'full'];
  const allowed = maxFiles();
  const why = allowed < links + otherFiles ? `A program may open ${allowed} files here (ulimit -Hn).` : null;
  return { links, why };
}

async function memory(options: FigureOptions): Promise<Measured> {
  const unit = 'kB PSS of the cloud a link';
  return shared(options, unit, ({ share }) => ({
    value: share.cloud.pss,
    detail: {
      heapKb: rounded(share.cloud.heap, 1),
      files: rounded(share.cloud.files, 2),
      computersEnd: { pssKb: rounded(share.computer.pss, 1), heapKb: rounded(share.computer.heap, 1) },
    },
  }));
}

async function files(options: FigureOptions): Promise<Measured> {
  return shared(options, 'descriptors of the cloud a link', ({ share }) => ({
    value: share.cloud.files,
    detail: { computersEnd: rounded(share.computer.files, 2) },
  }));
}

async function shared(
  { quick, log }: FigureOptions,
  unit: string,
  read: (world: World) => Pick<Measured, 'value' | 'detail'>,
): Promise<Measured> {
  const { links, why } = linksToMake(quick);
  const at = `${links} computers linked to one cloud, nothing moving; all computers are one program, the cloud is another; after a full collection`;
  if (why !== null) return { value: null, unit, n: links, at, why };
  const world = await setUp(links, log);
  try {
    return { unit, n: links, at, ...(read(world) as { value: number }) };
  } finally {
    await world.close();
  }
}

interface Calls {
  readonly ms: number;
  readonly cpuUs: number;
}

async function calls({ quick, log }: FigureOptions): Promise<Measured> {
  const { links, why } = linksToMake(quick);
  const rounds = quick ? 3 : 9;
  const count = quick ? 200 : 1000;
  const unit = `× a call through one of ${few} links, p50`;
  const at = `GET over a kept pipe, one caller inside the cloud's program; one cloud with ${few} links, one with ${links}, in turns`;
  if (why !== null) return { value: null, unit, n: links, at, why };
  const worlds: World[] = [];
  try {
    for (const size of [few, links]) worlds.push(await setUp(size, log));
    const [small, large] = worlds as [World, World];
    const found = { few: [] as Calls[], many: [] as Calls[] };
    for (let round = -1; round < rounds; round += 1) {
      const one = await ask<Calls>(small.cloud, `calls ${count}`);
      const other = await ask<Calls>(large.cloud, `calls ${count}`);
      log(`round ${round}: ${one.ms.toFixed(3)} ms, ${other.ms.toFixed(3)} ms`);
      if (round < 0) continue;
      found.few.push(one);
      found.many.push(other);
    }
    const of = (which: keyof typeof found, what: keyof Calls) => median(found[which].map((each) => each[what]));
    return {
      value: of('many', 'ms') / of('few', 'ms'),
      unit,
      n: rounds * count,
      at,
      own: rounded(of('many', 'ms'), 3),
      detail: {
        ms: { few: rounded(of('few', 'ms'), 3), many: rounded(of('many', 'ms'), 3) },
        cloudCpuUs: { few: rounded(of('few', 'cpuUs'), 0), many: rounded(of('many', 'cpuUs'), 0) },
      },
    };
  } finally {
    for (const world of worlds) await world.close();
  }
}
