/** Any thrown thing as a fact and an action a person can read. */
import { AppError } from '../../contracts/common/errors.ts';
import { localTimes } from './local-times.ts';

interface ProblemText {
  readonly code: string;
  readonly fact: string;
  readonly action: string;
  readonly requestId: string | null;
}

export function describeProblem(error: unknown): ProblemText {
  if (error instanceof AppError) {
    const requestId = error.options.extra?.requestId;
    return {
      code: error.code,
      fact: localTimes(error.fact),
      action: localTimes(error.action),
      requestId: typeof requestId === 'string' ? requestId : null,
    };
  }
  return {
    code: 'internal',
    fact: error instanceof Error ? error.message : String(error),
    action: 'Reload the page. If it happens again, see the log in the data folder.',
    requestId: null,
  };
}
