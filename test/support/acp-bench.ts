/** The room of bots over ACP with one bot of one agent in it: a store, a desk in memory, the agent's own process. What every play of an agent starts with. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { createLedger } from '../../src/kit/ledger/create-ledger.ts';
import { programCommand } from '../../src/kit/process/programs.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import type { AcpBot } from '../../src/runtime-server/acp-bots/bot.ts';
import { createAcpBots } from '../../src/runtime-server/acp-bots/index.ts';
import { acpCommand, knownAgentOf } from '../../src/runtime-server/harness/acp/known-agents.ts';
import type { BotSpec } from '../../src/runtime-server/harness/harness.ts';
import { createHarnesses } from '../../src/runtime-server/harness/index.ts';
import { processes } from '../runtime-server/harness/bench-of-one.ts';
import { askAlways, createPeople, type People } from '../runtime-server/harness/people.ts';
import { everythingAgreed } from './trust.ts';

type Entries = Awaited<ReturnType<ReturnType<typeof createAcpBots>['page']>>['entries'];

export interface AcpBench {
  readonly home: string;
  readonly work: string;
  readonly people: People;
  /** The bot of the runtime that runs now. */
  bot(): Pick<AcpBot, 'state' | 'onState' | 'gate' | 'deliver' | 'interrupt' | 'explain' | 'modes'>;
  entries(): Promise<Entries>;
  /** As a restarted Gantry: the same store, a new process of the agent. */
  restart(): Promise<void>;
  /** The process of its agent; null while there is none. */
  pid(): number | null;
  close(): Promise<void>;
}

/** `name`: what a team file has as `command`. `furnish`: puts what the agent needs into its home. */
export async function openAcpBench(options: {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly furnish?: (place: { readonly home: string; readonly work: string }) => void;
}): Promise<AcpBench> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'gantry-acp-bot-')));
  const [home, work] = [join(root, 'home'), join(root, 'project')];
  for (const folder of [home, work]) mkdirSync(folder);
  options.furnish?.({ home, work });
  const env = { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8', ...options.env };
  const people = createPeople();
  const log = { warn: (words: string, facts?: unknown) => console.warn(words, facts) };
  const clock = systemClock;
  const store = await openStore({ file: join(root, 'runtime.db'), migrations: runtimeMigrations, clock });
  const ids = createIds(clock);
  const ledger = await createLedger({ store, clock, ids });
  const harnesses = createHarnesses({
    trust: everythingAgreed,
    panes: { listen: () => () => {} } as never,
    clock,
    memory: { recall: () => null, remember: () => {} },
    approvals: people,
    policy: askAlways,
    processes,
    home,
    env,
  });
  const urlFile = join(root, 'url');
  writeFileSync(urlFile, '\n');
  const spec: BotSpec = {
    agentId: 'agent_web',
    slug: 'web',
    team: 'real',
    harness: 'acp',
    model: null,
    command: acpCommand(options.name),
    cwd: work,
    env: {},
    culture: 'Be kind to newcomers.',
  };
  const pidFile = join(root, 'pid');

  const create = () =>
    createAcpBots({
      ...{ store, ledger, clock, ids, log },
      timers: systemTimers,
      workspace: work,
      approvals: people,
      policy: askAlways,
      async prepare(bot) {
        const folder = join(root, 'bot');
        mkdirSync(folder, { recursive: true });
        const tokenFile = join(folder, 'token');
        const paths = { urlFile, tokenFile, workspace: work, gantry: programCommand('cli'), folder };
        const launch = await harnesses.prepare(bot, paths);
        const signIns = (knownAgentOf(bot.command)?.signIns ?? [])
          .filter(({ variable }) => launch.env[variable] !== undefined)
          .map(({ method }) => method);
        return {
          // Below the program beside it, as everywhere; the shell names itself before the agent takes its place.
          command: [
            ...programCommand('acp-inside'),
            '/bin/sh',
            '-c',
            'echo $$ > "$0"; exec "$@"',
            pidFile,
            ...launch.command,
          ],
          env: launch.env,
          cwd: work,
          mcpServers: () => [],
          signIns,
          asksIn: knownAgentOf(bot.command)?.asksIn ?? null,
          held: () => () => {},
          missingIsEmpty: knownAgentOf(bot.command)?.missingIsEmpty ?? false,
          close: async () => rmSync(pidFile, { force: true }),
        };
      },
      threadOf: () => null,
      reply: async () => {},
    });
  let bots = create();
  await bots.recover();
  let bot = bots.attach(spec);

  return {
    home,
    work,
    people,
    bot: () => bot,
    entries: async () => (await bots.page(spec.agentId, {})).entries,
    async restart() {
      await bots.close();
      bots = create();
      await bots.recover();
      bot = bots.attach(spec);
    },
    pid() {
      const read = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
      return read > 0 ? read : null;
    },
    async close() {
      await bots.close();
      await store.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}
