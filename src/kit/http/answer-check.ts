/**
 * Checks that a route answers as its contract says. In tests every answer is checked, and a wrong one fails; in production it is logged and sent.
 * Must not know what answers mean.
 */
import type { ZodType } from 'zod';
import type { Route } from '../../contracts/common/route.ts';

export type AnswerCheck = (status: number, body: unknown, requestId: string) => void;

/** Checking costs more than making the answer: in production each route's first answers are all checked, and later ones at this rate. */
const first = 100;
const later = 16;

export function createAnswerCheck(
  route: Route,
  {
    answers,
    log,
  }: {
    readonly answers?: 'throw' | 'log' | undefined;
    readonly log: { error(message: string, fields?: Record<string, unknown>): void };
  },
): AnswerCheck {
  let count = 0;
  return (status, body, requestId) => {
    const schema: ZodType | undefined = route.answers[status];
    count += 1;
    if (schema !== undefined && answers !== 'throw' && count > first && count % later !== 0) return;
    const parsed = schema?.safeParse(body);
    if (parsed?.success) return;
    const detail = parsed === undefined ? `status ${status} is not declared` : parsed.error.message;
    if (answers === 'throw') throw new Error(`${route.op} answered against its contract: ${detail}`);
    log.error('answer breaks its contract', { requestId, op: route.op, detail });
  };
}
