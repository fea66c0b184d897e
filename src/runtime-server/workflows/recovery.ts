/**
 * Recovers runs at a start. A node that worked is shown as interrupted and its person is asked; it is never repeated automatically, because half of
 * it may be done; one that a worker of the queue has continues there. A node that was assigned and perhaps not sent is sent with the same key; waiting nodes keep waiting. Pure but for the functions it
 * is given.
 */
import { isCommand, isSilent, type Run, type RunNode } from './model.ts';
import { advanceAll } from './rules.ts';
import type { Work } from './work.ts';

interface RecoveryWays {
  again(work: Work, node: RunNode): void;
  resume(work: Work, node: RunNode): void;
  requeue(run: Run): void;
}

export function recover(work: Work, ways: RecoveryWays): void {
  const { run } = work;
  // A verify command that was cut off is as unknown as the work itself; asked before the queue is filled.
  for (const node of run.nodes.values()) {
    const byUs = isCommand(node) || (node.status === 'checking' && node.cause !== 'reviewing');
    // Its bot is at a usage limit: it works on nothing, and knows itself how far it came.
    if (node.status === 'working' && node.cause === 'usage_limit') continue;
    if (node.status === 'working' && node.assignee === 'queue') {
      ways.resume(work, node);
      continue;
    }
    const isLost = byUs && (node.status === 'checking' || isSilent(node));
    if ((node.status === 'working' && node.assignee !== 'owner') || isLost) {
      node.wakeAt = null;
      const where = byUs ? ' Its output is in .gantry/ledger/running.' : '';
      work.move(node, 'needs_you', 'interrupted', `Gantry stopped during attempt ${node.attempt}.${where}`);
    } else if (node.handed === 'sending') ways.again(work, node);
    else if (node.status === 'blocked' && node.gate === 'waiting' && node.wakeAt === null) work.pollGate(node);
  }
  ways.requeue(run);
  advanceAll(work);
}
