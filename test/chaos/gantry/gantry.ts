/** Gantry as the suite's orchestrator: a computer, its cloud in the same process or apart with a second computer, a worker, a tracker, a model. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../support/bench/http.ts';
import { agentsOf } from '../../support/bench/product.ts';
import type { Fault, Target } from '../plan.ts';
import type { System } from '../system.ts';
import { createCampaign, together } from './campaign.ts';
import { openCloud } from './cloud.ts';
import { type Computer, openComputer } from './computer.ts';
import { startModel, team } from './crew.ts';
import { startEvents } from './events.ts';
import { createQueue, isEnded } from './queue.ts';

export interface GantryOptions {
  /** The bots' reports are kept while Gantry is away. */
  readonly spool: boolean;
  /** Its cloud API is a headless one for many people on PostgreSQL, and not in the process of the runtime; a second computer is paired with it. */
  readonly apart: boolean;
  /** The data folder is on a small disk of its own, which runs full. */
  readonly disk: boolean;
  /** The folder with the real Claude Code; null: a stand-in. */
  readonly claude: string | null;
}

/** Before the name of a part of the second computer. */
const other = "other computer's ";

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
    kill: { 'first replica': 2, 'second replica': 2, database: 1, [`${other}runtime`]: 2, [`${other}first agent`]: 1 },
    freeze: { 'first replica': 1, 'second replica': 1, [`${other}runtime`]: 1 },
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

const openTasks = 6;
const upMs = 60_000;

export async function openGantry(options: GantryOptions): Promise<System> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(options, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function open({ spool, apart, disk, claude }: GantryOptions, opened: AsyncDisposableStack): Promise<System> {
  const model = await startModel();
  opened.defer(() => model.close());
  const cloud = apart ? await openCloud() : null;
  if (cloud !== null) opened.defer(() => cloud.close());

  /** Paired with the cloud if it is apart, with its team up. */
  async function begun(onDisk: boolean): Promise<Computer> {
    const computer = await openComputer({ modelUrl: model.url, spool, disk: onDisk, claude });
    opened.defer(() => computer.close());
    await computer.start();
    const product = computer.product();
    await cloud?.pair(product);
    await product.engine.call('POST', `/api/factory/teams/${team}/up`, {});
    return computer;
  }

  const computer = await begun(disk);
  const second = apart ? await begun(false) : null;
  const surface = () => cloud?.browser ?? computer.product().web;
  const campaigns = [computer, ...(second === null ? [] : [second])].map((each) => createCampaign(each, surface));
  const first = computer.product();
  const clerk = await botWhenIdle(first.engine, 'clerk');
  const events = await startEvents(first.engine, clerk, computer.runtimeFile);
  opened.defer(() => events.close());
  const key = { name: 'work', scopes: ['work'] };
  const { secret } = await surface().call<{ secret: string }>('POST', '/api/v1/keys', key);
  const { env } = computer.place;
  const queue = createQueue({ origin: cloud?.origin ?? first.origin, secret, folder: env.HOME!, env });
  opened.defer(() => queue.close());
  await queue.worker.start();

  /** A program that is started again by the suite; null for what comes back by itself. */
  function part(name: string): Pick<Computer, 'kill' | 'start'> | null {
    if (name === 'worker') return { kill: queue.worker.kill, start: queue.worker.start };
    if (name === 'first replica' || name === 'second replica') return replica(name);
    if (name === 'database' && cloud !== null) {
      return { kill: () => cloud.database.crash(), start: () => cloud.database.restart() };
    }
    const [at, plain] = placeOf(name);
    return plain === 'runtime' ? at : null;
  }

  function replica(name: string) {
    if (cloud === null) throw new Error(`There is no ${name} here.`);
    return name === 'first replica' ? cloud.first : cloud.second;
  }

  function placeOf(name: string): readonly [Computer, string] {
    if (!name.startsWith(other)) return [computer, name];
    if (second === null) throw new Error(`There is no second computer here, and so no ${name}.`);
    return [second, name.slice(other.length)];
  }

  function pidOf(name: string): number | null {
    if (name === 'worker') return queue.worker.pid();
    if (name === 'first replica' || name === 'second replica') return replica(name).pid();
    const [at, plain] = placeOf(name);
    return at.pidOf(plain);
  }

  async function kill({ name, forMs }: Fault): Promise<void> {
    const again = part(name);
    if (again !== null) {
      await again.kill();
      await delay(forMs);
      await again.start();
      return;
    }
    const pid = pidOf(name);
    if (pid === null) return;
    signal(pid, 'SIGKILL');
    const [at, plain] = placeOf(name);
    if (plain === 'pane host') await at.hostBack(pid);
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

  const sum = (name: 'runs' | 'answers' | 'retries') =>
    campaigns.reduce((total, campaign) => total + campaign.counts()[name], 0);

  return {
    targets: targetsOf({ apart, disk }),
    async work() {
      for (const campaign of campaigns) await campaign.work();
      const running = (await queue.tasks()).filter((task) => !isEnded(task));
      if (running.length < openTasks) await queue.create();
      events.open();
    },
    async attend() {
      const looks = await Promise.allSettled(campaigns.map((campaign) => campaign.attend()));
      for (const look of looks) if (look.status === 'rejected') throw look.reason;
    },
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
      for (const campaign of campaigns) if (!(await campaign.isAtRest())) return false;
      return events.lost().length === 0 && (await queue.tasks()).every(isEnded);
    },
    async seen() {
      const seen = together(await Promise.all(campaigns.map((campaign) => campaign.seen())));
      return {
        ...seen,
        created: queue.created,
        tasks: await queue.tasks(),
        events: { lost: events.lost(), twice: events.disorder() },
        surprises: [
          ...seen.surprises,
          ...queue.worker.surprises,
          ...(cloud === null ? [] : [...cloud.first.surprises, ...cloud.second.surprises]),
        ],
      };
    },
    counts: () => ({
      tasks: queue.created.length,
      events: events.opened(),
      runs: sum('runs'),
      answers: sum('answers'),
      retries: sum('retries'),
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

/** It may have ended by itself. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone.
  }
}
