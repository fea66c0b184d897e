/**
 * Hosted bots: created from team files, restored after a restart, read as a transcript. Must not know panes or HTTP. The factory sees each as a
 * {@link HostedBot}.
 */
import { iso } from '../../kit/clock/clock.ts';
import { createHostedBot, type HostedBot } from './bot.ts';
import { shownLine } from './conversation.ts';
import { readPage } from './conversation-page.ts';
import type { HostedDeps } from './deps.ts';
import type { HostedSpec } from './spec.ts';
import { dropTurn, lastTurn, linesAfter, moveTurn, openTurns, type TurnRecord } from './store.ts';

export type { HostedBot } from './bot.ts';

export { hostedMigrations } from './migrations.ts';
export { type HostedSpec, hostedSpec } from './spec.ts';
export { createReportTools } from './tools.ts';

export interface Hosted {
  /** Finds turns of an earlier process; repeats none of them. Before any {@link attach}. */
  recover(): Promise<void>;
  /** Reports interrupted turns in their threads. Once sends can be made. */
  tellInterrupted(): Promise<void>;
  attach(spec: HostedSpec): HostedBot;
  /** The conversation as text, after the line `after`. */
  transcript(agentId: string, after: number): Promise<{ chunks: { at: string; text: string }[]; last: number }>;
  /** As a page shows it. */
  page(agentId: string, range: Parameters<typeof readPage>[2]): Promise<ReturnType<typeof readPage>>;
  close(): Promise<void>;
}

const interruptedWords = 'Gantry stopped during this turn. What was done stays done; nothing was repeated.';
const pageLines = 200;
/** Within the 3 s that the runtime has to close. */
const closeMs = 1500;

export function createHosted(deps: HostedDeps): Hosted {
  const { store, clock } = deps;
  const bots = new Map<string, HostedBot>();
  const last = new Map<string, TurnRecord>();
  let interrupted: TurnRecord[] = [];

  return {
    async recover() {
      await store.write((tx) => {
        const open = openTurns(tx);
        for (const turn of open) {
          if (turn.status === 'asked') {
            dropTurn(tx, turn.id);
            continue;
          }
          const at = clock.now();
          moveTurn(tx, turn.id, 'interrupted', interruptedWords, at);
          deps.runs.end(tx, turn.id, { status: 'interrupted', at, usage: null, output: null, error: interruptedWords });
        }
        interrupted = open.filter((turn) => turn.status !== 'asked');
        for (const agentId of new Set(interrupted.map((turn) => turn.agentId))) {
          const turn = lastTurn(tx, agentId);
          if (turn !== null) last.set(agentId, turn);
        }
      });
    },
    async tellInterrupted() {
      for (const turn of interrupted) {
        const bot = bots.get(turn.agentId);
        if (turn.threadId === null || bot === undefined) continue;
        const text = `(${interruptedWords} Send the message again if you still need it.)`;
        await deps
          .reply({ agentId: turn.agentId, address: '' }, turn.threadId, text, `turn:${turn.id}`)
          .catch((error: unknown) => {
            deps.log.warn('An interrupted turn could not be reported.', { turn: turn.id, error: String(error) });
          });
      }
      interrupted = [];
    },
    attach(spec) {
      const bot = createHostedBot(deps, spec, last.get(spec.agentId) ?? null);
      last.delete(spec.agentId);
      bots.set(spec.agentId, bot);
      return bot;
    },
    async transcript(agentId, after) {
      const lines = await store.read((tx) => linesAfter(tx, agentId, after, pageLines));
      return {
        chunks: lines.map(({ at, line }) => ({ at: iso(at), text: shownLine(line) })),
        last: lines.at(-1)?.seq ?? after,
      };
    },
    page: (agentId, range) => store.read((tx) => readPage(tx, agentId, range)),
    async close() {
      // A turn that does not end in time is found as interrupted, like the others.
      const gone = Promise.all([...bots.values()].map((bot) => bot.abandon()));
      await Promise.race([gone, new Promise<void>((resolve) => void deps.timers.after(closeMs, resolve))]);
    },
  };
}
