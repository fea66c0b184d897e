/**
 * Bots over ACP: begun from team files, restored after a restart, read as conversations. Must not know panes or HTTP. The factory sees each as an
 * {@link AcpBot}.
 */
import type { BotSpec } from '../harness/harness.ts';
import type { Conversations } from '../panes/pane-transcript.ts';
import { type AcpBot, createAcpBot } from './bot.ts';
import { createReader } from './conversation.ts';
import type { AcpDeps } from './deps.ts';
import { moveTurn, openTurns, type TurnRecord, unanswered } from './store.ts';
import { tellThread } from './turn.ts';

export type { AcpBot } from './bot.ts';
export { acpMigrations } from './migrations.ts';

export interface AcpBots extends Conversations {
  /** Finds turns of an earlier process; repeats none of them. Before any {@link attach}. */
  recover(): Promise<void>;
  /** Tells threads what they were not told before Gantry ended. Once sends can be made. */
  tellUnanswered(): Promise<void>;
  attach(spec: BotSpec): AcpBot;
  /** The live one; null: there is none. */
  find(agentId: string): AcpBot | null;
  readonly page: ReturnType<typeof createReader>['page'];
  close(): Promise<void>;
}

const interruptedWords = 'Gantry stopped during this turn. What was done stays done; nothing was repeated.';
/** Within the 3 s that the runtime has to close. */
const closeMs = 2000;

export function createAcpBots(deps: AcpDeps): AcpBots {
  const { store, clock } = deps;
  const reader = createReader(deps);
  const bots = new Map<string, AcpBot>();
  const left = new Map<string, TurnRecord>();

  return {
    async recover() {
      await store.write((tx) => {
        for (const turn of openTurns(tx)) {
          // Whether the agent ever had it is known once it continues its session.
          const isLost = turn.status === 'asked';
          const answer = isLost || turn.threadId === null ? null : `(${interruptedWords})`;
          const status = isLost ? ('lost' as const) : ('interrupted' as const);
          const now = { ...turn, status, reason: interruptedWords };
          moveTurn(tx, turn.id, { status, reason: interruptedWords, endedAt: clock.now(), answer });
          left.set(turn.agentId, now);
        }
      });
    },
    async tellUnanswered() {
      const turns = await store.read((tx) => unanswered(tx));
      for (const turn of turns) await tellThread(deps, turn);
    },
    attach(spec) {
      const bot = createAcpBot(deps, spec, left.get(spec.agentId) ?? null);
      left.delete(spec.agentId);
      bots.set(spec.agentId, bot);
      return bot;
    },
    find: (agentId) => bots.get(agentId) ?? null,
    async page(agentId, range) {
      await bots.get(agentId)?.flush();
      return reader.page(agentId, range);
    },
    async transcript(agentId, after) {
      await bots.get(agentId)?.flush();
      return reader.transcript(agentId, after);
    },
    async capture(agentId, lines) {
      await bots.get(agentId)?.flush();
      return reader.capture(agentId, lines);
    },
    async close() {
      const gone = Promise.all([...bots.values()].map((bot) => bot.end()));
      await Promise.race([gone, new Promise<void>((resolve) => void deps.timers.after(closeMs, resolve))]);
    },
  };
}
