/** The inbox as workflows see it, played by a test: its promises are those of the real one. */
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import type { Tx } from '../../../src/kit/store/store.ts';
import type { GateApprovals, GateAsk, GateVerdict } from '../../../src/runtime-server/workflows/deps.ts';
import type { World } from './support.ts';

interface Hold {
  readonly id: string;
  readonly ask: GateAsk;
  readonly apply: (tx: Tx, verdict: GateVerdict) => void;
  end(answer: { kind: string }): void;
  withdrawn: string | null;
  left: boolean;
}

export function playedApprovals() {
  const holds: Hold[] = [];
  const approvals: GateApprovals = {
    async ask(ask, { apply, signal }) {
      let end = (_answer: { kind: string }) => {};
      const answer = new Promise<{ kind: string }>((resolve) => {
        end = resolve;
      });
      const hold: Hold = { id: `apr_${holds.length + 1}`, ask, apply, end, withdrawn: null, left: false };
      signal.addEventListener('abort', () => {
        hold.left = true;
      });
      holds.push(hold);
      return { id: hold.id, answer };
    },
    async withdraw(id, surface) {
      const hold = holds.find((one) => one.id === id);
      if (hold === undefined) throw new Error(`There is no ${id}.`);
      hold.withdrawn = surface;
      hold.end({ kind: 'withdrawn' });
    },
    ofRun: async () => [],
    ofNode: async (dagId, nodeId) => {
      const hold = holds.findLast((one) => one.ask.dagId === dagId && one.ask.nodeId === nodeId);
      return hold === undefined ? null : ({ id: hold.id, title: hold.ask.title } as Approval);
    },
  };
  const answer = async (world: World, kind: 'approve' | 'reject', note: string | null = null) => {
    const hold = holds.at(-1) as Hold;
    const verdict = { kind, note, by: { user: 'user_local', surface: 'browser' } };
    await world.store.write((tx) => hold.apply(tx, verdict));
    hold.end({ kind });
  };
  return { approvals, holds, answer };
}
