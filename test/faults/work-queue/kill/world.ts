/** Three replicas, four workers, and who hands them work: each a program of its own as its command starts it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CallError, type Caller, createCaller, insist } from '../../../support/bench/http.ts';
import { gantryCommand } from '../../../support/bench/product.ts';
import { startReplicas } from '../../../support/replicas.ts';
import { createRestarts, type Restarts } from '../../../support/restarts.ts';
import { personAt } from '../../../support/signed-in.ts';
import { endOf, historyOf, writeDown } from './history.ts';
import type { Told } from './told-recorder.ts';
import type { Mark, Seen, Word } from './verdicts.ts';

export interface World {
  readonly replicas: readonly Restarts[];
  readonly workers: readonly Restarts[];
  /** Creations that were answered. */
  readonly created: ReadonlyMap<string, string>;
  /** Creations whose first request was cut off: nobody knows whether they are there. */
  readonly cutOff: number;
  /** Hands over one task that takes so long; asked again, with the same key, until it is answered. */
  create(seconds: number): Promise<void>;
  stats(): Promise<{ depth: number; leased: number; running: number }>;
  /** Tasks that workers are at, by their own word. */
  atWork(): number;
  /** The rest of the leases that nobody holds any more. */
  passTime(seconds: number): Promise<void>;
  seen(): Promise<Seen>;
  close(): Promise<void>;
}

export interface WorldSize {
  readonly replicas: number;
  readonly workers: number;
  readonly concurrency: number;
}

/** What each task does, and writes down where no queue comes to. */
const command = (seconds: number) => {
  const mark = (kind: string) => `echo "${kind} $GANTRY_TASK_ID $GANTRY_TASK_FENCE $(date +%s%3N)" >> "$MARKS"`;
  return `${mark('S')}; sleep ${seconds}; ${mark('E')}; echo "$GANTRY_TASK_FENCE"`;
};

export async function createWorld(size: WorldSize): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-kill-'));
  const cloud = await startReplicas(size.replicas);
  const { origin, postgres, databaseUrl } = cloud;
  await writeDown(postgres, databaseUrl);
  const person = await personAt(origin);
  const { secret } = await person<{ secret: string }>('POST', '/api/v1/keys', { name: 'work', scopes: ['work'] });
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, secret, { mode: 0o600 });
  const [marks, told] = [join(folder, 'marks'), join(folder, 'told')];
  const recorder = `--import ${new URL('./told-recorder.ts', import.meta.url).href}`;
  const passed: { at: number; ms: number }[] = [];
  const flags = ['--url', origin, '--key-file', keyFile, '--concurrency', `${size.concurrency}`, '--no-sandbox'];
  const workers = Array.from({ length: size.workers }, (_, index) => {
    const name = `worker-${index + 1}`;
    return createRestarts({
      name,
      command: [...gantryCommand, 'worker', ...flags, '--name', name],
      env: {
        HOME: folder,
        GANTRY_HOME: join(folder, 'home'),
        TMPDIR: folder,
        NODE_OPTIONS: recorder,
        GANTRY_TEST_TOLD: told,
      },
    });
  });
  const caller = createCaller(origin, secret);
  const created = new Map<string, string>();
  let made = 0;
  let cutOff = 0;

  return {
    replicas: cloud.replicas,
    workers,
    created,
    get cutOff() {
      return cutOff;
    },
    async create(seconds) {
      made += 1;
      for (let attempt = 0; ; attempt += 1) {
        const key = `${made}/${attempt}`;
        const answer = await createOnce(caller, key, seconds, marks);
        if (answer !== null) {
          created.set(key, answer);
          return;
        }
        cutOff += 1;
      }
    },
    stats: () => insist(() => caller.call('GET', '/beta/work/stats')),
    atWork: () => workers.reduce((sum, worker) => sum + heldBy(worker), 0),
    async passTime(seconds) {
      await cloud.passTime(seconds);
      // Whoever asked before they were there again was told by them later: counted from here it can only be less than it was.
      passed.push({ at: Date.now(), ms: seconds * 1000 });
    },
    async seen() {
      return {
        created,
        history: await historyOf(postgres, databaseUrl),
        tasks: await endOf(postgres, databaseUrl),
        marks: marksIn(marks),
        words: workers.flatMap(wordsOf),
        told: linesOf(told).map((line) => JSON.parse(line) as Told),
        passed,
        kills: new Map(workers.map(({ name, kills }) => [name, kills])),
      };
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
      caller.close();
      await cloud.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Null: the first request with this key was cut off, and nobody knows what became of it. */
async function createOnce(caller: Caller, key: string, seconds: number, marks: string): Promise<string | null> {
  const body = { payload: { key, command: command(seconds) }, env: { MARKS: marks }, max_attempts: 100 };
  return insist(async () => {
    try {
      return (await caller.call<{ id: string }>('POST', '/beta/work', body, { 'idempotency-key': key })).id;
    } catch (error) {
      if (error instanceof CallError && error.message.includes('idempotency_conflict')) return null;
      throw error;
    }
  });
}

function marksIn(file: string): Mark[] {
  return linesOf(file).map((line) => {
    const [kind, id = '', fence, at] = line.split(' ');
    return { kind: kind as Mark['kind'], id, fence: Number(fence), at: Number(at) };
  });
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

/** Since its last start. */
function heldBy(worker: Restarts): number {
  const born = worker.kills.at(-1) ?? 0;
  const held = new Set<string>();
  for (const { id, word, at } of wordsOf(worker)) {
    if (at <= born) continue;
    if (word === 'began') held.add(id);
    else held.delete(id);
  }
  return held.size;
}

function wordsOf({ name, said }: Restarts): Word[] {
  return said.flatMap(({ line, at }) => {
    const [, word, id] = /^(\w+) +(task_\w+)/.exec(line) ?? [];
    return word === undefined || id === undefined ? [] : [{ worker: name, word, id, at }];
  });
}
