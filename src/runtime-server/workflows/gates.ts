/**
 * Manual gates as approvals: while a node waits at one, its person is asked; the first answer opens or rejects it, and any other move of the node
 * withdraws the question. Knows approvals; must not know who answers or where.
 */
import { createHash } from 'node:crypto';
import type { Actor } from '../base/actor.ts';
import type { Log } from '../base/base.ts';
import type { GateApprovals, GateVerdict } from './deps.ts';
import type { RunNode } from './model.ts';

interface Gates {
  /** Aligns the question with the node, after the node was committed. */
  sync(node: RunNode, runTitle: string): void;
  /** The node was moved on this surface: a question that ends now names it. */
  through(nodeId: string, surface: string): void;
  close(): void;
}

interface Where {
  readonly dagId: string;
  readonly nodeId: string;
  readonly verdict: GateVerdict;
  readonly by: Actor;
}

/** A gate needs no quick answer; an expired question is asked again. */
const questionLivesMs = 7 * 24 * 3600 * 1000;

interface Question {
  /** Known once the approval exists. */
  id: string | null;
  readonly key: string;
  readonly signal: AbortController;
  /** It is to end as soon as it is known. */
  ended: string | null;
}

export function createGates(deps: {
  readonly approvals: GateApprovals;
  readonly log: Log;
  /** Opens or rejects the gate inside the transaction that takes the answer; nothing when it no longer waits. */
  answered(tx: Parameters<NonNullable<Parameters<GateApprovals['ask']>[1]['apply']>>[0], where: Where): void;
}): Gates {
  const questions = new Map<string, Question>();
  const surfaces = new Map<string, string>();
  let closed = false;

  const fault = (what: string) => (error: unknown) => {
    if (!closed) deps.log.warn(what, { error: String(error) });
  };

  function withdraw(nodeId: string, question: Question): void {
    questions.delete(nodeId);
    const surface = surfaces.get(nodeId) ?? 'engine';
    surfaces.delete(nodeId);
    question.ended = surface;
    if (question.id !== null)
      deps.approvals.withdraw(question.id, surface).catch(fault('An approval could not be withdrawn.'));
  }

  function ask(node: RunNode, runTitle: string, key: string): void {
    const { dagId, nodeId } = node;
    const question: Question = { id: null, key, signal: new AbortController(), ended: null };
    questions.set(nodeId, question);
    const about = node.detail ?? 'A person opens this gate.';
    const asking = deps.approvals.ask(
      {
        source: 'workflow',
        kind: 'wait_gate',
        title: `${node.title} waits at its gate`.slice(0, 200),
        summary: `${about}\n\nRun: ${runTitle}\nStep: ${node.title}`,
        risk: 'low',
        agentId: null,
        dagId,
        nodeId,
        actionHash: createHash('sha256').update(key).digest('hex'),
        expiresInMs: questionLivesMs,
        dedupeKey: key,
      },
      {
        signal: question.signal.signal,
        apply: (tx, verdict) => {
          const by = { actor: verdict.by.user, surface: verdict.by.surface };
          deps.answered(tx, { dagId, nodeId, verdict, by });
        },
      },
    );
    asking.then(
      async ({ id, answer }) => {
        question.id = id;
        if (question.ended !== null) {
          await deps.approvals.withdraw(id, question.ended);
          return;
        }
        const { kind } = await answer;
        if (questions.get(nodeId) !== question) return;
        questions.delete(nodeId);
        if (kind === 'expired' && !closed) ask(node, runTitle, key);
      },
      fault(`No approval could be asked for the gate of ${nodeId}: open it with \`gantry workflows gate\`.`),
    );
  }

  return {
    sync(node, runTitle) {
      if (closed) return;
      const known = questions.get(node.nodeId);
      const waits = node.status === 'needs_you' && node.cause === 'gate' && node.gate === 'waiting';
      // Each round of a loop is a separate question.
      const key = waits ? `gate:${node.dagId}:${node.nodeId}:${node.attempt}` : null;
      if (known !== undefined && known.key !== key) withdraw(node.nodeId, known);
      if (key !== null && questions.get(node.nodeId)?.key !== key) ask(node, runTitle, key);
    },
    through(nodeId, surface) {
      if (questions.has(nodeId)) surfaces.set(nodeId, surface);
    },
    close() {
      closed = true;
      // The holds stay: the next runtime asks again with the same keys.
      for (const question of questions.values()) question.signal.abort();
    },
  };
}
