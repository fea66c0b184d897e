/**
 * The records of bots in terminals that work on nodes: one for each time that a bot works or checks, begun and ended in the transaction of the
 * node's move. Hosted bots write their own, turn by turn; a vendor's bot has its ticket, a command has no bot. Must not know SQL or messages.
 */
import type { Ids } from '../../kit/ids/ids.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { AgentRunBook, Workforce } from './deps.ts';
import { isSilent, type RunNode } from './model.ts';

interface Moment {
  readonly at: number;
  /** The actor of the move. */
  readonly actor: string;
  /** The result given in the same operation. */
  readonly output: string | null;
}

export interface BotRuns {
  /** After a move of the node: the record of who worked until now ends, that of who works from now on begins. */
  moved(tx: Tx, node: RunNode, from: RunNode['status'], moment: Moment): void;
  /** Its checker has been asked. Returns whether the node has changed. */
  asked(tx: Tx, node: RunNode, at: number): boolean;
}

type End = 'completed' | 'failed' | 'cancelled' | 'interrupted';

export function createBotRuns({
  ids,
  agentRuns,
  workforce,
}: {
  readonly ids: Ids;
  readonly agentRuns: AgentRunBook;
  readonly workforce: Pick<Workforce, 'inTerminal'>;
}): BotRuns {
  function begin(tx: Tx, node: RunNode, address: string | null, at: number): boolean {
    const botId = address === null || node.agentRun !== null ? null : workforce.inTerminal(address);
    if (botId === null) return false;
    node.agentRun = ids.next('run');
    const source = { kind: 'workflow' as const, ref: `${node.dagId}/${node.nodeId}` };
    agentRuns.begin(tx, { id: node.agentRun, botId, source, at });
    return true;
  }

  return {
    moved(tx, node, from, { at, actor, output }) {
      // A bot that fell silent still has the step, and one that goes on never lost it.
      const goesOn = isSilent(node) || (from === 'needs_you' && ['working', 'checking'].includes(node.status));
      if (node.agentRun !== null && node.status !== from && !goesOn) {
        const checked = from === 'checking';
        // A checker was asked for a verdict, and gave one either way; a node that others moved took its check away.
        const byChecker = node.checker !== null && workforce.inTerminal(node.checker) === actor;
        const status = checked ? (byChecker ? 'completed' : 'cancelled') : endOfWork(node);
        agentRuns.end(tx, node.agentRun, {
          status,
          at,
          usage: null,
          output: checked && status === 'completed' ? node.detail : output,
          error: status === 'completed' ? null : node.detail,
        });
        node.agentRun = null;
      }
      if (node.status === 'working') begin(tx, node, node.assignee, at);
    },
    asked: (tx, node, at) => begin(tx, node, node.checker, at),
  };
}

/** The end of the work, from the node's new state. */
function endOfWork({ status, cause }: RunNode): End {
  if (status === 'done' || status === 'checking' || cause === 'proof_to_accept') return 'completed';
  if (cause === 'interrupted' || cause === 'usage_limit' || cause === 'over_budget') return 'interrupted';
  return status === 'cancelled' || cause === 'cancel_deadline' ? 'cancelled' : 'failed';
}
