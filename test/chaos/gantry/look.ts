/** What Gantry shows of the campaign in the end, in the words of the suite. */
import Database from 'better-sqlite3';
import type { NodeCard, NodePage } from '../../../src/contracts/factory/node.ts';
import type { Caller } from '../../support/bench/http.ts';
import type { Seen, Step } from '../system.ts';
import { boardOf, cardsOf, pendingOf } from './person.ts';

interface Recorded {
  readonly applied: readonly string[];
  readonly refusedLater: ReadonlySet<string>;
  readonly ends: readonly string[];
}

/** From the ledger of the computer, which each change is written to in its own transaction. */
export function recorded(file: string): Recorded {
  const database = new Database(file, { readonly: true });
  try {
    const bodies = <T>(type: string) =>
      database
        .prepare<[string], { body: string }>('SELECT body FROM ledger WHERE type = ? ORDER BY seq')
        .all(type)
        .map(({ body }) => JSON.parse(body) as T);
    const progress = bodies<{ text: string }>('node.progress').map(({ text }) => text);
    const refused = [...bodies<{ id: string }>('report.refused'), ...bodies<{ id: string }>('report.stale')];
    const moves = bodies<{ dagId: string; nodeId: string; status: string; attempt: number }>('node.status');
    return {
      applied: progress,
      refusedLater: new Set(refused.map(({ id }) => id)),
      ends: moves.flatMap(({ dagId, nodeId, status, attempt }) =>
        status === 'done' ? [`${dagId} ${nodeId} ${attempt}`] : [],
      ),
    };
  } finally {
    database.close();
  }
}

const statuses: Readonly<Record<NodeCard['status'], Step['status']>> = {
  new: 'waiting',
  ready: 'waiting',
  blocked: 'ended',
  working: 'working',
  checking: 'working',
  needs_you: 'needs_person',
  done: 'done',
  failed: 'ended',
  skipped: 'ended',
  cancelled: 'ended',
};

function byWhom({ assignee, bindingType }: NodeCard): Step['by'] {
  if (assignee === 'shell') return 'command';
  if (assignee === 'owner') return 'person';
  return bindingType === 'hosted' ? 'model' : 'program';
}

/** Steps of all runs, with the runs that are there. */
export async function stepsOf(caller: Caller, surface: Pick<Caller, 'call'>): Promise<Pick<Seen, 'steps' | 'runs'>> {
  const board = await boardOf(caller);
  const asked = new Set((await pendingOf(surface)).map(({ dagId, nodeId }) => `${dagId} ${nodeId}`));
  const steps: Step[] = [];
  for (const card of cardsOf(board)) {
    const { dagId, nodeId, detail, cause, attempt, gate } = card;
    const by = byWhom(card);
    const isDone = card.status === 'done';
    const page =
      isDone && by === 'program' ? await caller.call<NodePage>('GET', `/api/factory/nodes/${dagId}/${nodeId}`) : null;
    steps.push({
      run: dagId,
      step: nodeId,
      status: statuses[card.status],
      attempt,
      why: [cause, detail].filter(Boolean).join(': '),
      output: page?.output ?? null,
      by,
      // Where it is not a gate, the board and the bell ask; a gate asks in the inbox.
      isAsked: gate?.state !== 'waiting' || asked.has(`${dagId} ${nodeId}`),
    });
  }
  return { steps, runs: new Set(board.runs.map(({ dagId }) => dagId)) };
}
