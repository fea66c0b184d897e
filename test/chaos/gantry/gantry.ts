/** Gantry as the suite's orchestrator: a computer, its cloud in the same process or apart, a worker, a tracker, a model. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../support/bench/http.ts';
import { agentsOf } from '../../support/bench/product.ts';
import type { Fault, Target } from '../plan.ts';
import type { System } from '../system.ts';
import { openCloud } from './cloud.ts';
import { openComputer } from './computer.ts';
import { startModel, team } from './crew.ts';
import { startEvents } from './events.ts';
import { linesOf, reportsOf, turnsNow } from './journal.ts';
import { recorded, stepsOf } from './look.ts';
import { boardOf, cardsOf, createPerson } from './person.ts';
import { createQueue, isEnded } from './queue.ts';

export interface GantryOptions {
  /** The bots' reports are kept while Gantry is away. */
  readonly spool: boolean;
  /** Its cloud API is a headless one for many people on PostgreSQL, and not in the process of the runtime. */
  readonly apart: boolean;
  /** The data folder is on a small disk of its own, which runs full. */
  readonly disk: boolean;
}

/** How often each comes, by what is done to it. */
const weights: Readonly<
  Record<'computer' | 'cloud' | 'disk', Partial<Record<Target['kind'], Readonly<Record<string, number>>>>>
> = {
  computer: {
    kill: { runtime: 5, 'pane host': 1, 'first agent': 1, 'second agent': 1, worker: 2 },
    freeze: { runtime: 3, 'pane host': 1, worker: 1, 'first agent': 1, 'second agent': 1 },
    clock: { clock: 1 },
  },
  /** What there is besides when the cloud is apart. */
  cloud: {
    kill: { cloud: 3, database: 1 },
    freeze: { cloud: 2 },
    cut: { link: 2 },
    hold: { link: 1 },
    delay: { link: 1 },
  },
  disk: { fill: { disk: 6 } },
};
/** Milliseconds, each way back. */
const slowMs = 300;

export const targetsOf = ({ apart, disk }: Pick<GantryOptions, 'apart' | 'disk'>): readonly Target[] =>
  [weights.computer, ...(apart ? [weights.cloud] : []), ...(disk ? [weights.disk] : [])].flatMap((place) =>
    Object.entries(place).flatMap(([kind, names]) =>
      Object.entries(names).map(([name, weight]) => ({ kind: kind as Target['kind'], name, weight })),
    ),
  );

const openRuns = 5;
const openTasks = 6;
const upMs = 60_000;
const closed = ['done', 'failed', 'skipped', 'cancelled'];

export async function openGantry(options: GantryOptions): Promise<System> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(options, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function open({ spool, apart, disk }: GantryOptions, opened: AsyncDisposableStack): Promise<System> {
  const model = await startModel();
  opened.defer(() => model.close());
  const computer = await openComputer({ modelUrl: model.url, spool, disk });
  opened.defer(() => computer.close());
  const person = createPerson();
  await computer.start();
  const first = computer.product();
  const cloud = apart ? await openCloud() : null;
  if (cloud !== null) {
    opened.defer(() => cloud.close());
    await cloud.pair(first);
  }
  await first.engine.call('POST', `/api/factory/teams/${team}/up`, {});
  const clerk = await botWhenIdle(first.engine, 'clerk');
  const events = await startEvents(first.engine, clerk, computer.runtimeFile);
  opened.defer(() => events.close());
  const surface = () => cloud?.browser ?? computer.product().web;
  const key = { name: 'work', scopes: ['work'] };
  const { secret } = await surface().call<{ secret: string }>('POST', '/api/v1/keys', key);
  const { env } = computer.place;
  const queue = createQueue({ origin: cloud?.origin ?? first.origin, secret, folder: env.HOME!, env });
  opened.defer(() => queue.close());
  await queue.worker.start();
  const caller = (): Caller => computer.product().engine;

  async function kill({ name, forMs }: Fault): Promise<void> {
    if (name === 'worker') {
      await queue.worker.kill();
      await delay(forMs);
      await queue.worker.start();
    } else if (name === 'runtime') {
      await computer.kill();
      await delay(forMs);
      await computer.start();
    } else if (name === 'cloud') {
      await cloud?.kill();
      await delay(forMs);
      await cloud?.start();
    } else if (name === 'database') {
      await cloud?.database.crash();
      await delay(forMs);
      await cloud?.database.restart();
    } else {
      const pid = computer.pidOf(name);
      if (pid === null) return;
      signal(pid, 'SIGKILL');
      if (name === 'pane host') await computer.hostBack(pid);
    }
  }

  function pidOf(name: string): number | null {
    if (name === 'worker') return queue.worker.pid();
    return name === 'cloud' ? (cloud?.pid() ?? null) : computer.pidOf(name);
  }

  async function disturb({ kind, forMs }: Fault): Promise<void> {
    const wire = cloud?.wire;
    if (kind === 'cut') wire?.cutAll();
    else if (kind === 'hold') wire?.holdAll();
    else wire?.delayBy(slowMs);
    if (kind !== 'cut') await delay(forMs);
    wire?.delayBy(0);
  }

  async function freeze({ name, forMs }: Fault): Promise<void> {
    const pid = pidOf(name);
    if (pid === null) return;
    signal(pid, 'SIGSTOP');
    await delay(forMs);
    signal(pid, 'SIGCONT');
  }

  async function runsAtRest(): Promise<boolean> {
    if (person.begun.length === 0) return true;
    return cardsOf(await boardOf(caller())).every(({ status }) => closed.includes(status));
  }

  return {
    targets: targetsOf({ apart, disk }),
    async work() {
      const open = new Set(person.begun.length === 0 ? [] : cardsOf(await boardOf(caller())).flatMap(openRun));
      if (open.size < openRuns) await person.begin(caller());
      const running = (await queue.tasks()).filter((task) => !isEnded(task));
      if (running.length < openTasks) await queue.create();
      events.open();
    },
    attend: async () => person.attend(caller(), surface()),
    async play(fault) {
      if (fault.kind === 'kill') await kill(fault);
      else if (fault.kind === 'freeze') await freeze(fault);
      else if (fault.kind === 'clock') {
        computer.setClock(fault.seconds);
        await delay(fault.forMs);
        computer.setClock(0);
      } else if (fault.kind === 'fill') await computer.fillDisk(fault.forMs);
      else await disturb(fault);
    },
    async isAtRest() {
      if (!(await runsAtRest()) || events.lost().length > 0) return false;
      return (await queue.tasks()).every(isEnded);
    },
    async seen() {
      const lines = linesOf(computer.journal);
      const { steps, runs } = await stepsOf(caller(), surface());
      const { applied, refusedLater, ends } = recorded(computer.runtimeFile);
      return {
        reports: reportsOf(lines),
        applied: [...applied, ...steps.flatMap(({ output }) => output ?? [])],
        refusedLater,
        steps,
        atWork: turnsNow(lines),
        ends,
        begun: person.begun,
        runs,
        created: queue.created,
        tasks: await queue.tasks(),
        events: { lost: events.lost(), twice: events.disorder() },
        surprises: [...person.surprises, ...queue.worker.surprises],
      };
    },
    counts: () => ({
      runs: person.begun.length,
      tasks: queue.created.length,
      events: events.opened(),
      ...person.counts(),
    }),
    close: () => opened.disposeAsync(),
  };
}

async function botWhenIdle(caller: Caller, slug: string): Promise<string> {
  for (const end = performance.now() + upMs; performance.now() < end; await delay(100)) {
    const bots = await agentsOf(caller, team);
    if (bots.every(({ state }) => state === 'idle')) return bots.find((bot) => bot.slug === slug)!.id;
  }
  throw new Error(`The bots did not become idle: ${JSON.stringify(await agentsOf(caller, team))}`);
}

function openRun({ dagId, status }: { readonly dagId: string; readonly status: string }): string[] {
  return closed.includes(status) ? [] : [dagId];
}

/** It may have ended by itself. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone.
  }
}
