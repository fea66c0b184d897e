/**
 * Answering an approval. The page shows only what the server says: its answer, or, when somebody was faster, who it was. Must not
 * know how an approval looks.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { Approval } from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { useServices } from './services.tsx';

type Answer = (approval: Approval, decision: 'approve' | 'reject', note: string) => Promise<void>;

export function useAnswerApproval(): Answer {
  const { api, keys } = useServices();
  const client = useQueryClient();
  return useCallback(
    async (approval, decision, note) => {
      const put = (answered: Approval): void => {
        client.setQueryData<{ approvals: Approval[] }>(keys.approvals, (old) =>
          old === undefined
            ? old
            : { ...old, approvals: old.approvals.map((one) => (one.id === answered.id ? answered : one)) },
        );
      };
      const body = note.trim() === '' ? { decision } : { decision, note: note.trim() };
      try {
        const answer = await api.approvals.resolveApproval({ params: { id: approval.id }, body });
        if (!('dryRun' in answer)) put(answer);
      } catch (error) {
        // Somebody else was first: the refusal carries what they answered.
        const other = Approval.safeParse(error instanceof AppError ? error.options.extra?.approval : undefined);
        if (other.success) put(other.data);
        else void client.invalidateQueries({ queryKey: keys.approvals });
        throw error;
      }
    },
    [api, keys, client],
  );
}
