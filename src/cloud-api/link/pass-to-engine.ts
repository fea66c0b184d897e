/**
 * Passes a request to the runtime of a computer and its answer back, unread, for areas that answer `computer_unavailable` while it is away. First
 * user: tools; second: connectors. Must not know routes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import type { Context } from '../../kit/http/types.ts';
import { Unanswered } from './ask.ts';
import { deliver } from './deliver.ts';
import type { EngineQuestion, Engines } from './engines.ts';

/** Throws `computer_unavailable` while the computer is away. */
export async function passToEngine(
  engines: Pick<Engines, 'ask'>,
  advice: string,
  question: EngineQuestion & { readonly context: Context<Route> },
): Promise<void> {
  try {
    await deliver(await engines.ask(question), question.context);
  } catch (thrown) {
    throw thrown instanceof Unanswered ? unavailable(thrown, advice) : thrown;
  }
}

export function unavailable({ cause }: Unanswered, advice: string): AppError {
  const fact = `The computer does not answer (${cause.code ?? cause.message}).`;
  return new AppError('transport', fact, advice, { wireCode: 'computer_unavailable', cause });
}
