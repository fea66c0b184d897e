/**
 * Harnesses: how each agent CLI is found, started, judged, typed into, and what proves that a text arrived. Exports `createHarnesses`. The factory
 * uses only `harness.ts` and names no harness.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type HarnessName, harnesses, runsInPane } from '../../contracts/factory/agent.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import { carryConversation, signedInAs } from './accounts.ts';
import type { Adapter, HarnessPanes, ProcessRunner } from './adapter.ts';
import { createBot, type LiveBot } from './bot.ts';
import type { Environment } from './environment.ts';
import { findHarnesses } from './found.ts';
import type { BotMemory, BotPaths, FoundHarness, Harnesses, PermissionApprovals, PermissionPolicy } from './harness.ts';
import { compileRules, type Matcher } from './judge/rules.ts';
import { programs, settingsHarnessOf } from './programs.ts';
import { quote } from './shell/start-file.ts';

/** How long a lookup of the installed harnesses is valid. */
const foundForMs = 30_000;

export function createHarnesses(deps: {
  readonly panes: HarnessPanes;
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly memory: BotMemory;
  /** Where a harness's own permission question is put to a person. */
  readonly approvals: PermissionApprovals;
  /** Rules of the person that answer such a question at once. */
  readonly policy: PermissionPolicy;
  /** Settings of agent programs in a bot's folder. `alone`: no person sits at the program. */
  readonly trust: { demandSettings(harness: HarnessName, cwd: string, alone: boolean): void };
  readonly processes: ProcessRunner;
  /** The person's environment, as Gantry was started with. */
  readonly env: Environment;
  /** The person's home folder; only read. */
  readonly home: string;
  /** The folder of accounts; absent: there are none. */
  readonly accounts?: string | undefined;
}): Harnesses {
  const { panes, clock, timers = systemTimers, memory } = deps;
  const around = { env: deps.env, home: deps.home, processes: deps.processes };
  const adapters = new Map(harnesses.map((name) => [name, programs[name].adapter(around)]));
  const matchers = new Map<HarnessName, Matcher>();
  const bots = new Map<string, LiveBot>();
  let found: { at: number; list: Promise<readonly FoundHarness[]> } | null = null;

  panes.listen({
    onFacts: (paneId, facts) => bots.get(paneId)?.takeFacts(facts),
    onOsc: (paneId, osc) => bots.get(paneId)?.takeOsc(osc),
    onExit: (paneId, info) => bots.get(paneId)?.takeExit(info),
    onEngine: () => {
      for (const bot of bots.values()) bot.takeEngine();
    },
  });

  function adapterOf(name: HarnessName): Adapter {
    const adapter = adapters.get(name);
    if (adapter) return adapter;
    throw new AppError(
      'usage',
      `The harness "${name}" is not built yet.`,
      `Use one of ${harnesses.join(', ')}, or "custom" with \`command: ${name}\`.`,
    );
  }

  return {
    found() {
      const now = clock.monotonic();
      if (!found || now - found.at > foundForMs) {
        const look = { at: now, list: findHarnesses(around, (name) => adapterOf(name).ruleset) };
        found = look;
        // A look that failed is no answer for the next caller.
        look.list.catch(() => {
          if (found === look) found = null;
        });
      }
      return found.list;
    },
    async prepare(given, paths) {
      const bot = signedInAs(given, deps.accounts);
      const owner = settingsHarnessOf(bot);
      // Nobody sits at a program without a terminal.
      if (owner !== null) deps.trust.demandSettings(owner, bot.cwd, !runsInPane(bot.harness));
      const before = await carryConversation(bot, { ...memory.recall(bot.agentId), ...bot.adopts }, deps);
      const { launch, facts } = await adapterOf(bot.harness).prepare(bot, paths, before);
      // Each names the conversation of a start in the same way: the previous one is continued.
      const resumed =
        bot.resume === true && typeof facts.sessionId === 'string' && facts.sessionId === before.sessionId;
      const tools = await writeTools(paths);
      memory.remember(bot.agentId, facts);
      const path = [tools, launch.env.PATH].filter(Boolean).join(delimiter);
      return { ...launch, env: { ...launch.env, PATH: path }, ...(resumed && { resumed }) };
    },
    hasExec: (harness) => adapters.get(harness)?.exec !== undefined,
    interruptKeys: (harness) => adapterOf(harness).ruleset.interrupt,
    async exec(bot, paths, text, options) {
      const { exec } = adapterOf(bot.harness);
      if (exec) {
        deps.trust.demandSettings(bot.harness, bot.cwd, true);
        return exec(signedInAs(bot, deps.accounts), paths, text, options);
      }
      throw new AppError(
        'usage',
        `The harness "${bot.harness}" has no exec mode.`,
        'Use a bot with the harness claude.',
      );
    },
    attach(bot, paneId) {
      const adapter = adapterOf(bot.harness);
      let matcher = matchers.get(bot.harness);
      if (!matcher) {
        matcher = compileRules(adapter.ruleset);
        matchers.set(bot.harness, matcher);
      }
      bots.get(paneId)?.close();
      const live = createBot({
        adapter,
        matcher,
        bot,
        paneId,
        panes,
        clock,
        timers,
        memory,
        approvals: deps.approvals,
        policy: deps.policy,
        home: deps.home,
        onClose: () => {
          if (bots.get(paneId) === live) bots.delete(paneId);
        },
      });
      bots.set(paneId, live);
      return live;
    },
    async usage(bot, cursor, settled) {
      const facts = memory.recall(bot.agentId);
      return (facts && (await adapters.get(bot.harness)?.usage?.({ facts, cursor, settled }))) ?? null;
    },
  };
}

/** A folder with the command `gantry`, put first on the bot's PATH: a clone has no such command anywhere else. */
async function writeTools({ folder, gantry }: BotPaths): Promise<string> {
  const tools = join(folder, 'bin');
  await mkdir(tools, { recursive: true, mode: 0o700 });
  const file = join(tools, 'gantry');
  await writeFile(file, `#!/bin/sh\nexec ${gantry.map(quote).join(' ')} "$@"\n`, { mode: 0o700 });
  // `mode` holds only for a new file.
  await chmod(file, 0o700);
  return tools;
}
