/**
 * A tool server that is killed −9 fifty times while clients make tasks and three surfaces answer each of them at once: every task that a client was
 * told of is there, has one winner, and ran once if that was a yes. The bench measures here what `tasks/get` takes with all of them kept.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [{ name: 'approvals.tasks', run: (options) => measured(options, 'kills') }];

interface Plan {
  readonly kills: number;
  readonly tasks: number;
  readonly gets: number;
}
const whole: Plan = { kills: 50, tasks: 500, gets: 2000 };
const short: Plan = { kills: 4, tasks: 40, gets: 200 };

interface Server extends Victim {
  readonly url: string;
}
interface TaskSeen {
  readonly status: string;
  readonly result?: { readonly isError: boolean };
  readonly error?: { readonly message: string };
}
interface Question {
  readonly id: string;
  readonly summary: string;
}

const program = fileURLToPath(new URL('../../support/victims/task-server.ts', import.meta.url));
const version = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};
/** One client may have fifty questions that wait. */
const clients = 20;
const surfaces = ['browser', 'cli', 'push'] as const;

async function ask<T>({ url }: Server, client: string, method: string, params: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${client}`,
      'content-type': 'application/json',
      'mcp-protocol-version': version,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  });
  const { result, error } = (await response.json()) as { result?: T; error?: { message: string } };
  if (result === undefined) throw new Error(error?.message ?? `HTTP ${response.status}`);
  return result;
}

/** What clients were told and what people answered; the server has only its folder. */
class Oracle {
  /** By line: each task that a client was told of. */
  readonly told = new Map<string, { readonly client: string; readonly taskId: string }>();
  /** By line: each approval that ever asked about it. */
  readonly asked = new Map<string, Set<string>>();
  /** By approval: the surfaces whose answer was taken. */
  readonly taken = new Map<string, Set<string>>();
  readonly #answers = new Map<string, readonly object[]>();
  readonly #random: () => number;
  #made = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  async make(server: Server): Promise<void> {
    this.#made += 1;
    const line = `line-${this.#made}`;
    const client = `client-${this.#made % clients}`;
    const params = { name: 'write.line', arguments: { line } };
    const { taskId } = await ask<{ taskId: string }>(server, client, 'tools/call', params);
    this.told.set(line, { client, taskId });
  }

  /** Each surface answers once, and its answer is brought until the server has said what became of it. */
  answersTo({ id, summary }: Question): readonly object[] {
    this.asked.set(summary, (this.asked.get(summary) ?? new Set()).add(id));
    const known = this.#answers.get(id);
    if (known !== undefined) return known;
    const answers = surfaces.map((surface, index) => ({
      id,
      decision: this.#random() < 0.7 ? 'approve' : 'reject',
      note: null,
      resolvedBy: { user: 'user_local', surface },
      at: new Date(Date.now() + index).toISOString(),
    }));
    const shuffled = answers.toSorted(() => this.#random() - 0.5);
    this.#answers.set(id, shuffled);
    return shuffled;
  }

  all(): readonly object[] {
    return [...this.#answers.values()].flat();
  }

  decisionOf(id: string): string | null {
    const surface = [...(this.taken.get(id) ?? [])][0];
    const answers = (this.#answers.get(id) ?? []) as { decision: string; resolvedBy: { surface: string } }[];
    return answers.find(({ resolvedBy }) => resolvedBy.surface === surface)?.decision ?? null;
  }

  heard(line: string): void {
    const [verb, id = '', surface = '', word] = line.split(' ');
    if (verb === 'said' && word === 'applied') this.taken.set(id, (this.taken.get(id) ?? new Set()).add(surface));
  }
}

async function started(folder: string, oracle: Oracle): Promise<Server> {
  const victim = startVictim({ command: [process.execPath, program, folder] });
  victim.child.stdin?.on('error', () => {});
  victim.onLine((line) => oracle.heard(line));
  const [, url = ''] = (await victim.until((line) => line.startsWith('ready '))).split(' ');
  return { ...victim, url };
}

async function liveOf({ child, lines, until }: Server): Promise<Question[]> {
  const seen = lines.length;
  child.stdin?.write('live\n');
  const said = await until((line) => line.startsWith('live ') && lines.indexOf(line, seen) >= seen);
  return JSON.parse(said.slice('live '.length));
}

const bring = ({ child }: Server, answer: object) => child.stdin?.write(`answer ${JSON.stringify(answer)}\n`);

async function drive(server: Server, signal: AbortSignal, oracle: Oracle, upTo: number): Promise<void> {
  while (!signal.aborted) {
    if (oracle.told.size < upTo) await Promise.all([1, 2, 3].map(() => oracle.make(server)));
    for (const question of await liveOf(server)) {
      for (const answer of oracle.answersTo(question)) if (Math.random() < 0.5) bring(server, answer);
    }
    await delay(5);
  }
}

/** Until every task has ended. */
async function settle(server: Server, oracle: Oracle, tasks: number): Promise<ReadonlyMap<string, TaskSeen>> {
  while (oracle.told.size < tasks) await oracle.make(server);
  const ends = new Map<string, TaskSeen>();
  for (const deadline = Date.now() + 120_000; Date.now() < deadline && ends.size < oracle.told.size; ) {
    for (const question of await liveOf(server)) oracle.answersTo(question);
    for (const answer of oracle.all()) bring(server, answer);
    for (const [line, { client, taskId }] of oracle.told) {
      if (ends.has(line)) continue;
      const seen = await ask<TaskSeen>(server, client, 'tasks/get', { taskId });
      if (seen.status !== 'working') ends.set(line, seen);
    }
    await delay(50);
  }
  return ends;
}

function verdicts(oracle: Oracle, ends: ReadonlyMap<string, TaskSeen>, lines: ReadonlyMap<string, number>): string[] {
  return [...oracle.told.keys()].flatMap((line) => {
    const end = ends.get(line);
    if (end === undefined) return [`${line} has not ended`];
    const ids = [...(oracle.asked.get(line) ?? [])];
    const winners = ids.flatMap((id) => [...(oracle.taken.get(id) ?? [])].map((surface) => `${id} ${surface}`));
    const ran = lines.get(line) ?? 0;
    const problems = ids.length === 1 ? [] : [`${line} was asked ${ids.length} times`];
    if (winners.length !== 1) problems.push(`${line} has ${winners.length} winners: ${winners.join(', ')}`);
    if (ran > 1) problems.push(`${line} ran ${ran} times`);
    const decision = oracle.decisionOf(ids[0] ?? '');
    if (decision === 'reject' && (ran > 0 || end.result?.isError !== true)) problems.push(`${line} ran on a no`);
    // Killed while it ran: nobody can know, and the task says so.
    const unknown = end.status === 'failed' && end.error?.message.includes('is not known') === true;
    const done = end.status === 'completed' && end.result?.isError === false && ran === 1;
    if (decision === 'approve' && !done && !unknown) {
      problems.push(`${line} ran ${ran} times on a yes: ${JSON.stringify(end).slice(0, 300)}`);
    }
    return problems;
  });
}

export async function measured({ quick, log }: FigureOptions, what: 'kills' | 'gets'): Promise<Measured> {
  const plan = quick ? short : whole;
  const { tasks, gets } = plan;
  const kills = what === 'kills' ? plan.kills : 0;
  const perKill = tasks / plan.kills;
  const random = seededRandom(20);
  const folder = mkdtempSync(join(tmpdir(), 'gantry-task-kills-'));
  const oracle = new Oracle(random);
  try {
    let ends: ReadonlyMap<string, TaskSeen> = new Map();
    let times: number[] = [];
    const looked = async (server: Server) => {
      ends = await settle(server, oracle, tasks);
      if (what === 'gets') times = await timed(server, oracle, gets);
    };
    const { problems } = await runKillLoop<Server>({
      rounds: kills,
      random,
      killAfter: [0, 250],
      start: () => started(folder, oracle),
      drive: (server, signal, round) => drive(server, signal, oracle, perKill * (round + 1)),
      // Each kill has tasks that are answered, and some that are being made.
      async underWay(round) {
        while (oracle.told.size < perKill * round + perKill / 3) await delay(5);
      },
      check: async (server, round) => {
        log(`kill ${round + 1} of ${kills}: ${oracle.told.size} tasks`);
        return lost(server, oracle);
      },
      async end(server) {
        await looked(server);
        await server.kill();
      },
    });
    const found = [...problems, ...verdicts(oracle, ends, linesIn(folder))];
    const at = `one tool server with a real database, ${clients} clients, three surfaces that answer at once`;
    if (what === 'gets') {
      const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
      return { value: Math.round(p99 * 100) / 100, unit: 'ms', n: times.length, at, problems: found };
    }
    const unknown = [...ends.values()].filter(({ status }) => status === 'failed').length;
    return {
      value: found.length,
      unit: 'tasks lost, with no winner or several, or run twice',
      n: kills,
      at,
      problems: found,
      detail: { tasks: oracle.told.size, ended: ends.size, killedWhileRunning: unknown },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tasks that a client was told of and that the server no longer has. */
async function lost(server: Server, oracle: Oracle): Promise<string[]> {
  const found: string[] = [];
  for (const [line, { client, taskId }] of oracle.told) {
    await ask(server, client, 'tasks/get', { taskId }).catch((fault: unknown) => found.push(`${line}: ${fault}`));
  }
  return found;
}

async function timed(server: Server, oracle: Oracle, gets: number): Promise<number[]> {
  const told = [...oracle.told.values()];
  const times: number[] = [];
  for (let n = 0; n < gets; n += 1) {
    const { client, taskId } = told[n % told.length]!;
    const began = performance.now();
    await ask(server, client, 'tasks/get', { taskId });
    times.push(performance.now() - began);
  }
  return times;
}

function linesIn(folder: string): ReadonlyMap<string, number> {
  const path = join(folder, 'lines.txt');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return new Map(Object.entries(Object.groupBy(lines, (line) => line)).map(([line, same]) => [line, same!.length]));
}
