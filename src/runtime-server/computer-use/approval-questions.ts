/** Questions of a person's own computer: they become approvals, which every surface can answer. Must not know calls. */
import type { Approvals } from '../approvals/approvals.ts';
import type { Answer, Questions } from './questions.ts';

export function createApprovalQuestions(approvals: Pick<Approvals, 'ask' | 'withdraw'>): Questions {
  return {
    async ask({ title, words, risk, runId, client, actionHash, key, expiresInMs }, apply) {
      const asked = await approvals.ask(
        {
          source: 'executor',
          kind: 'tool_call',
          title,
          summary: words,
          risk,
          agentId: null,
          client,
          ...(runId === null ? {} : { runId }),
          actionHash,
          dedupeKey: key,
          expiresInMs,
        },
        { apply: (tx, { kind, by }) => apply(tx, { state: kind === 'approve' ? 'approved' : 'denied', by: by.user }) },
      );
      const answer = asked.answer.then((given): Answer => {
        if (given.kind === 'approve') return { state: 'approved', by: given.by.user };
        if (given.kind === 'reject') return { state: 'denied', by: given.by.user };
        return { state: 'expired', by: null };
      });
      return { id: asked.id, answer };
    },
    withdraw: (id) => approvals.withdraw(id, 'engine'),
  };
}
