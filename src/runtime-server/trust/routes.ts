/** Routes of a workspace's files that decide what may run: the waiting ones, and their person's answer. */
import { answerTrust, getTrust } from '../../contracts/factory/routes.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { WorkspaceTrusts } from './index.ts';

export function trustRoutes({
  trust,
  taken,
}: {
  readonly trust: Pick<WorkspaceTrusts, 'show' | 'answer'>;
  /** Applied before the next read, so that it sees the teams as agreed. */
  readonly taken: () => Promise<void>;
}): BoundRoute[] {
  return [
    bind(getTrust, () => ({ body: trust.show() })),
    bind(answerTrust, async ({ body, principal }) => {
      const answered = await trust.answer(body, { actor: principal.userId, surface: surfaceOf(principal) });
      await taken();
      return { body: answered };
    }),
  ];
}
