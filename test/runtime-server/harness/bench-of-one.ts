/** One bot in a scratch folder with a real pty: what every harness test starts with. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Clock, systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import type { ProcessRunner, Ran, Surroundings } from '../../../src/runtime-server/harness/adapter.ts';
import type {
  BotPaths,
  BotSpec,
  DeliverResult,
  ExecOptions,
  ExecResult,
  HarnessBot,
  Harnesses,
  Outgoing,
} from '../../../src/runtime-server/harness/harness.ts';
import { createHarnesses } from '../../../src/runtime-server/harness/index.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import { everythingAgreed } from '../../support/trust.ts';
import { createPeople, type People } from './people.ts';
import { createPtyPanes, type PtyPanes } from './pty-panes.ts';

export const processes: ProcessRunner = {
  async run(command, { cwd, env, input, timeoutMs }) {
    const ran = await runProcess({ command, cwd, env, input: input ?? undefined, deadlineMs: timeoutMs });
    return { code: ran.exitCode, stdout: ran.stdout, stderr: ran.stderr, timedOut: ran.ended === 'deadline' };
  },
};

/** `web` of the team `dev`, with nothing set that need not be. */
export const botSpec = (bot: Partial<BotSpec>): BotSpec => ({
  agentId: 'a',
  slug: 'web',
  team: 'dev',
  harness: 'shell',
  model: null,
  command: null,
  cwd: '/',
  env: {},
  culture: null,
  ...bot,
});

export interface Scratch {
  readonly home: string;
  readonly work: string;
  readonly panes: PtyPanes;
  readonly people: People;
  readonly harnesses: Harnesses;
  readonly facts: Map<string, Readonly<Record<string, unknown>>>;
  readonly env: Record<string, string>;
  /** A second set of harnesses over the same panes and memory: the runtime after a restart. */
  restarted(timers?: Timers, clock?: Clock): Harnesses;
  paths(agentId: string): BotPaths;
  /** In its folder. */
  spec(bot: Partial<BotSpec>): BotSpec;
  /** Puts the stand-in of a harness on PATH. */
  standIn(harness: string): void;
  /** What was typed into its pane. */
  typed(bot: HarnessBot): string;
  /** As the real program does it: the hook is called with the prompt that was taken. */
  deliverWithHook(bot: HarnessBot, message: Outgoing, prompt?: string): Promise<DeliverResult>;
  /** Prepares, starts and attaches. */
  up(spec: Partial<BotSpec>, folder?: string): Promise<HarnessBot>;
  close(): void;
}

export function createScratch(env: Record<string, string> = {}): Scratch {
  const root = mkdtempSync(join(tmpdir(), 'gantry-harness-'));
  const home = join(root, 'home');
  const work = join(root, 'work');
  for (const folder of [home, work]) mkdirSync(folder, { mode: 0o700 });
  const whole = { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8', ...env };
  const panes = createPtyPanes();
  const facts = new Map<string, Readonly<Record<string, unknown>>>();
  const memory = {
    recall: (id: string) => facts.get(id) ?? null,
    remember: (id: string, value: Readonly<Record<string, unknown>>) => {
      facts.set(id, structuredClone(value));
    },
  };
  const people = createPeople();
  const policy = createPolicy({ workspace: work, trust: everythingAgreed, log: console });
  const create = (timers = systemTimers, clock = systemClock) =>
    createHarnesses({
      trust: everythingAgreed,
      panes,
      clock,
      timers,
      memory,
      approvals: people,
      policy,
      processes,
      env: whole,
      home,
    });
  const harnesses = create();
  let count = 0;

  function paths(agentId: string): BotPaths {
    const folder = join(root, 'bots', agentId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return {
      urlFile: join(root, 'url'),
      tokenFile: join(folder, 'token'),
      workspace: work,
      gantry: [process.execPath, join(root, 'gantry.js')],
      folder,
    };
  }

  const scratch: Scratch = {
    home,
    work,
    panes,
    people,
    harnesses,
    facts,
    env: whole,
    restarted: create,
    paths,
    spec: (bot) => botSpec({ cwd: work, ...bot }),
    standIn(harness) {
      const bin = join(work, 'bin');
      mkdirSync(bin);
      const program = fileURLToPath(new URL(`./stand-in-${harness}.mjs`, import.meta.url));
      writeFileSync(join(bin, harness), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 });
      whole.PATH = `${bin}:${whole.PATH}`;
    },
    typed: (bot) => panes.written(bot.paneId),
    async deliverWithHook(bot, message, prompt = composePrompt(message)) {
      const result = bot.deliver(message);
      await eventually(() => scratch.typed(bot).endsWith('\r'));
      await bot.hook('UserPromptSubmit', { prompt, session_id: 's' });
      return result;
    },
    async up(spec) {
      count += 1;
      const bot = scratch.spec({ agentId: `agent_${count}`, ...spec });
      const launch = await harnesses.prepare(bot, paths(bot.agentId));
      const paneId = `pane_${count}`;
      panes.start(paneId, launch);
      return harnesses.attach(bot, paneId);
    },
    close() {
      panes.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return scratch;
}

/** What an exec mode runs for the text `--help`, and what it makes of it. Stand-ins are found: only the call is looked at. */
export async function callExec(
  exec: (
    around: Surroundings,
    bot: BotSpec,
    paths: BotPaths,
    text: string,
    options: ExecOptions,
  ) => Promise<ExecResult>,
  bot: BotSpec,
  ran: Partial<Ran>,
  options: ExecOptions,
) {
  const calls: { command: readonly string[]; input: string | null; timeoutMs: number }[] = [];
  const runner: ProcessRunner = {
    async run(command, { input, timeoutMs }) {
      calls.push({ command, input, timeoutMs });
      return { code: 0, stdout: '', stderr: '', timedOut: false, ...ran };
    },
  };
  const around = {
    env: { PATH: fileURLToPath(new URL('./stand-in-bin', import.meta.url)) },
    home: '/',
    processes: runner,
  };
  const paths = { urlFile: '/u', tokenFile: '/t', workspace: '/w', gantry: ['gantry'], folder: '/f' };
  return { result: await exec(around, bot, paths, '--help', options), calls };
}

/** Of its run: what it printed, with code 0. */
export const ranWith = (stdout: string, rest: Partial<Ran> = {}): Ran => ({
  code: 0,
  stdout,
  stderr: '',
  timedOut: false,
  ...rest,
});
export const jsonLines = (...events: readonly object[]) => events.map((event) => JSON.stringify(event)).join('\n');

/** A minute passes in the sixtieth part of one: for what is told only after a minute. */
export function hurriedTime(): { clock: Clock; timers: Timers } {
  let skipped = 0;
  const clock = { now: () => systemClock.now() + skipped, monotonic: () => systemClock.monotonic() + skipped };
  const after: Timers['after'] = (ms, effect) => {
    if (ms < 30_000 || ms > 60_001) return systemTimers.after(ms, effect);
    return systemTimers.after(ms - 59_000, () => {
      skipped += 59_000;
      effect();
    });
  };
  return { clock, timers: { after } };
}

let deliveries = 0;
export function outgoing(text: string, extra: Partial<Outgoing> = {}): Outgoing {
  deliveries += 1;
  return {
    deliveryId: `delivery_${deliveries}`,
    senderLine: 'From owner',
    text,
    replyLine: null,
    raw: false,
    ...extra,
  };
}

/** Waits for a condition on a bot's state; fails with what the bot was last. */
export async function reaches(bot: HarnessBot, state: string, ms = 45_000): Promise<void> {
  await eventually(
    () => bot.state().state === state,
    ms,
    () => `${state}, but it is ${JSON.stringify(bot.state())}`,
  );
}

export async function eventually(condition: () => boolean, ms = 45_000, words = () => 'the condition'): Promise<void> {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`Waited ${ms} ms for ${words()}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const gateOpen = (bot: HarnessBot) =>
  eventually(
    () => bot.gate().open,
    45_000,
    () => `an open gate: ${JSON.stringify(bot.gate())}`,
  );
