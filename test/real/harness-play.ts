/** What the scenes of every harness start with: a bot of it in the real pane host, the scripted model server, people at a desk in memory. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HarnessName } from '../../src/contracts/factory/agent.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { programCommand } from '../../src/kit/process/programs.ts';
import type {
  BotPaths,
  BotSpec,
  DeliverResult,
  HarnessBot,
  Harnesses,
  Outgoing,
} from '../../src/runtime-server/harness/harness.ts';
import { createHarnesses } from '../../src/runtime-server/harness/index.ts';
import { createPaneEngine } from '../../src/runtime-server/panes/create-pane-engine.ts';
import { processes } from '../runtime-server/harness/bench-of-one.ts';
import { askAlways, createPeople, type People } from '../runtime-server/harness/people.ts';
import type { Script } from '../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../support/model-server/server.ts';
import { everythingAgreed } from '../support/trust.ts';

export interface Play {
  readonly harness: HarnessName;
  /** npm package and the version that the rules were recorded with. */
  readonly package: string;
  readonly version: string;
  readonly megabytes: number;
  /** Its install script from the package's folder, where npm may leave it out. */
  readonly afterInstall?: string;
  /** Whether every scene passed. `kitOnly`: of those, the rows of the conformance kit. */
  play(options: { readonly kitOnly: boolean }): Promise<boolean>;
}

export interface Bench {
  readonly home: string;
  readonly work: string;
  readonly model: ModelServer;
  readonly people: People;
  readonly harnesses: Harnesses;
  readonly memory: Map<string, Readonly<Record<string, unknown>>>;
  spec(agentId: string, extra?: Partial<BotSpec>): BotSpec;
  paths(agentId: string): BotPaths;
  up(bot: BotSpec): Promise<HarnessBot>;
  /** Takes the bot in this pane up anew, as a restarted runtime does. */
  again(bot: BotSpec, paneId: string): HarnessBot;
  killPane(paneId: string): Promise<void>;
  /** kill -9 of its program, and the end of what that leaves behind. */
  killNow(paneId: string): Promise<void>;
  message(words: string): Outgoing;
  until(what: string, condition: () => boolean, bot: HarnessBot, ms?: number): Promise<void>;
  state(bot: HarnessBot, wanted: string, ms?: number): Promise<void>;
  open(bot: HarnessBot): Promise<void>;
  sent(bot: HarnessBot, words: string): Promise<DeliverResult>;
  scene(name: string, act: () => Promise<string | undefined>): Promise<void>;
  /** A line of what was played, and that it failed. */
  note(passed: boolean, words: string): void;
  /** States since the scene began. */
  history(): string;
  close(): Promise<boolean>;
}

export async function createBench(
  harness: HarnessName,
  given: {
    readonly script: (place: { home: string; work: string }) => Script;
    readonly env: (model: ModelServer) => Record<string, string>;
  },
): Promise<Bench> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), `gantry-${harness}-run-`)));
  const home = join(root, 'home');
  const work = join(root, 'project');
  const gantryHome = join(root, 'gantry');
  for (const folder of [home, work, gantryHome]) mkdirSync(folder, { mode: 0o700 });
  const model = await startModelServer(given.script({ home, work }));
  const people = createPeople();
  const memory = new Map<string, Readonly<Record<string, unknown>>>();
  const panes = createPaneEngine({ home: gantryHome, command: programCommand('pane-host'), onError: console.error });
  const urlFile = join(root, 'url');
  writeFileSync(urlFile, 'http://127.0.0.1:9\n');
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', ...given.env(model) };
  const harnesses = createHarnesses({
    trust: everythingAgreed,
    panes,
    clock: systemClock,
    memory: { recall: (id) => memory.get(id) ?? null, remember: (id, facts) => void memory.set(id, facts) },
    approvals: people,
    policy: askAlways,
    processes,
    home,
    env,
  });
  let failed = 0;
  let paneCount = 0;
  let count = 0;
  let history: string[] = [];

  const bench: Bench = {
    home,
    work,
    model,
    people,
    harnesses,
    memory,
    spec: (agentId, extra = {}) => ({
      agentId,
      slug: agentId,
      team: 'real',
      harness,
      cwd: work,
      model: null,
      command: null,
      culture: null,
      env: {},
      ...extra,
    }),
    paths(agentId) {
      const folder = join(root, 'bots', agentId);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const tokenFile = join(folder, 'token');
      writeFileSync(tokenFile, agentId, { mode: 0o600 });
      return { urlFile, tokenFile, workspace: work, gantry: programCommand('cli'), folder };
    },
    async up(bot) {
      const launch = await harnesses.prepare(bot, bench.paths(bot.agentId));
      paneCount += 1;
      const id = `pane_${paneCount}`;
      await panes.create({ id, ...launch, labels: {} });
      return bench.again(bot, id);
    },
    again(bot, paneId) {
      const live = harnesses.attach(bot, paneId);
      live.onState(({ state, reason }) => history.push(reason ? `${state}: ${reason}` : state));
      return live;
    },
    killPane: (paneId) => panes.kill(paneId),
    async killNow(paneId) {
      const info = panes.get(paneId);
      if (!info?.alive) return;
      process.kill(info.pid, 'SIGKILL');
      await panes.kill(paneId).catch(() => undefined);
    },
    message(words) {
      count += 1;
      const deliveryId = `delivery_${Date.now()}_${count}`;
      return { deliveryId, senderLine: 'From owner', text: words, replyLine: null, raw: false };
    },
    until: untilBot,
    state: (bot, wanted, ms) => bench.until(wanted, () => bot.state().state === wanted, bot, ms),
    open: (bot) => bench.until('an open gate', () => bot.gate().open, bot, 60_000),
    async sent(bot, words) {
      await bench.open(bot);
      return bot.deliver(bench.message(words));
    },
    async scene(name, act) {
      const from = performance.now();
      history = [];
      try {
        const words = await act();
        bench.note(true, `${name} (${Math.round(performance.now() - from)} ms)${words ? `: ${words}` : ''}`);
      } catch (error) {
        bench.note(false, `${name}: ${(error as Error).message}\n     states: ${history.join(' → ')}`);
      }
    },
    note(passed, words) {
      if (!passed) failed += 1;
      console.log(`${passed ? 'ok  ' : 'FAIL'} ${harness}: ${words}`);
    },
    history: () => history.join(' → '),
    async close() {
      await panes.stopHost({ force: true });
      await panes.close();
      await model.close();
      // Its children may still write for a moment.
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
      return failed === 0;
    },
  };
  return bench;
}

/** Fails with the last steps of its judge and the bottom of its screen. */
export async function untilBot(what: string, condition: () => boolean, bot: HarnessBot, ms = 30_000): Promise<void> {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) {
      const { steps, bottom } = bot.explain();
      const log = steps.slice(-14).map((step) => `${step.source} ${step.rule} ${step.claim} ${step.decided}`);
      throw new Error(
        `${what}: not within ${ms} ms; state ${JSON.stringify(bot.state())}, gate ${JSON.stringify(bot.gate())}\n${log.join('\n')}\n${bottom.slice(-16).join('\n')}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
