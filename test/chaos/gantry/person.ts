/** The person of the campaign: begins runs, answers what is asked, has interrupted steps tried again, and starts bots that have ended. */
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import type { Board } from '../../../src/contracts/factory/board.ts';
import type { NodeCard } from '../../../src/contracts/factory/node.ts';
import { CallError, type Caller } from '../../support/bench/http.ts';
import { agentsOf, type BenchAgent } from '../../support/bench/product.ts';
import { project, team } from './crew.ts';

export interface Person {
  readonly begun: readonly string[];
  /** What was refused though it should not have been. */
  readonly surprises: readonly string[];
  begin(caller: Caller): Promise<void>;
  /** `surface`: where questions are answered. */
  attend(caller: Caller, surface: Pick<Caller, 'call'>): Promise<void>;
  counts(): { readonly answers: number; readonly retries: number };
}

const down = ['offline', 'failed'];
/** So often in a row its bot is seen idle before its person has an interrupted step tried again: it may still be at work. */
const patience = 2;

export const boardOf = (caller: Caller) => caller.call<Board>('GET', `/api/factory/campaigns/project-${project}/board`);
export const cardsOf = (board: Board): NodeCard[] => board.waves.flatMap(({ nodes }) => nodes);
export const pendingOf = async (surface: Pick<Caller, 'call'>) =>
  (await surface.call<{ approvals: Approval[] }>('GET', '/api/factory/approvals?state=pending&limit=200')).approvals;

export function createPerson(): Person {
  const begun: string[] = [];
  const surprises: string[] = [];
  const looks = new Map<string, number>();
  let made = 0;
  let pending: string | null = null;
  let answers = 0;
  let retries = 0;

  /** Somebody else, or a call whose answer was cut off, came first. */
  async function act(what: string, call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.status < 500 && ![404, 409, 429].includes(error.status)) surprises.push(`${what}: ${error.message}`);
      return false;
    }
  }

  async function startBots(caller: Caller, bots: readonly BenchAgent[]): Promise<void> {
    if (!bots.some(({ state }) => down.includes(state))) return;
    await act('start of the team', () => caller.call('POST', `/api/factory/teams/${team}/up`, {}));
  }

  async function retry(caller: Caller, { dagId, nodeId, assignee, attempt }: NodeCard, bots: readonly BenchAgent[]) {
    const key = `${dagId} ${nodeId} ${attempt}`;
    const bot = bots.find(({ address }) => address === assignee);
    const isFree = bot === undefined || (bot.state === 'idle' && bot.queueDepth === 0);
    const seen = isFree ? (looks.get(key) ?? 0) + 1 : 0;
    looks.set(key, seen);
    if (seen < patience) return;
    looks.delete(key);
    const path = `/api/factory/nodes/${dagId}/${nodeId}/retry`;
    if (await act(`retry of ${nodeId}`, () => caller.call('POST', path, {}))) retries += 1;
  }

  return {
    begun,
    surprises,
    async begin(caller) {
      if (pending === null) {
        made += 1;
        pending = `run-${made}`;
      }
      const body = { template: 'chain', projectId: project, team, intent: `Deliver ${pending}` };
      const key = { 'idempotency-key': pending };
      try {
        begun.push((await caller.call<{ dagId: string }>('POST', '/api/factory/runs', body, key)).dagId);
        pending = null;
      } catch (error) {
        // Cut off in its first call: nobody knows whether it is there, and the key is used up.
        if (!(error instanceof CallError && error.message.includes('was cut off'))) throw error;
        pending = null;
      }
    },
    async attend(caller, surface) {
      const bots = await agentsOf(caller, team);
      await startBots(caller, bots);
      for (const { id } of await pendingOf(surface)) {
        const path = `/api/factory/approvals/${id}/resolve`;
        if (await act(`answer to ${id}`, () => surface.call('POST', path, { decision: 'approve' }))) answers += 1;
      }
      if (begun.length === 0) return;
      for (const card of cardsOf(await boardOf(caller))) {
        const held = card.status === 'needs_you' && card.gate?.state !== 'waiting';
        if (held || card.status === 'failed') await retry(caller, card, bots);
      }
    },
    counts: () => ({ answers, retries }),
  };
}
