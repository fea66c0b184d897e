/**
 * The caller's computers as this area asks them: one, or each linked one until one knows the run or session. Owns the response for a computer that is
 * away. Must not know what the request means.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import type { Context } from '../../kit/http/types.ts';
import { Unanswered } from '../link/ask.ts';
import type { ComputerLookup } from '../link/computers.ts';
import type { EngineQuestion, Engines } from '../link/engines.ts';
import { readAnswer } from '../link/read-answer.ts';

export interface CallersComputersDeps {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  readonly computers: ComputerLookup & {
    list(userId: string): Promise<readonly { readonly id: string; readonly state: string }[]>;
  };
  /** What to do when a computer does not answer. */
  readonly advice: string;
}

export type Question = Omit<EngineQuestion, 'context'> & { readonly context: Context<Route> };

export interface CallersComputers {
  targetOf: Engines['targetOf'];
  /** By its own id or the cloud's. Throws 404 `computer_not_found`. */
  named(userId: string, id: string): Promise<string>;
  /** Throws 503 `computer_unavailable` while it is away. */
  ask(question: Question): Promise<IncomingMessage>;
  /**
   * The first answer of a computer that knows the run or session: first the computer that the request names, then the caller's other linked ones. If
   * none knows it, throws the first one's error.
   */
  askUntilKnown(question: Question): Promise<{ readonly computerId: string; readonly answer: IncomingMessage }>;
}

/** Limit in bytes for an error body. */
const maxRefusalLength = 64 * 1024;
/** How a computer refuses an id that it does not have or, if it is older, a route that it does not know. */
const unknownThere: ReadonlySet<string> = new Set(['run_not_found', 'session_not_found', 'not_found', 'not_built']);

export function createCallersComputers({ engines, computers, advice }: CallersComputersDeps): CallersComputers {
  async function ask(question: Question): Promise<IncomingMessage> {
    try {
      return await engines.ask(question);
    } catch (thrown) {
      if (!(thrown instanceof Unanswered)) throw thrown;
      const { cause } = thrown;
      const fact = `The computer does not answer (${cause.code ?? cause.message}).`;
      throw new AppError('transport', fact, advice, { wireCode: 'computer_unavailable', cause });
    }
  }

  /** Null: it does not know the id, or it is away; `said` then has its error. */
  async function tryOne(question: Question, said: AppError[]): Promise<IncomingMessage | null> {
    try {
      const answer = await ask(question);
      if (answer.statusCode !== 404 && answer.statusCode !== 501) return answer;
      const refusal = await refusalOf(answer);
      if (!unknownThere.has(refusal.options.wireCode ?? '')) throw refusal;
      said.push(refusal);
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'transport') throw thrown;
      said.push(thrown);
    }
    return null;
  }

  return {
    targetOf: (context) => engines.targetOf(context),
    ask,
    async named(userId, id) {
      const computerId = await computers.resolve(userId, id);
      if (computerId !== null) return computerId;
      const fact = `There is no computer ${JSON.stringify(id.slice(0, 200))}.`;
      throw new AppError(
        'not_found',
        fact,
        'Leave it out for the default one, or write this-device where a path needs one.',
        { wireCode: 'computer_not_found' },
      );
    },
    async askUntilKnown(question) {
      const said: AppError[] = [];
      const first = await tryOne(question, said);
      if (first !== null) return { computerId: question.computerId, answer: first };
      for (const { id, state } of await computers.list(question.context.principal.userId)) {
        if (id === question.computerId || state !== 'linked') continue;
        const answer = await tryOne({ ...question, computerId: id }, said);
        if (answer !== null) return { computerId: id, answer };
      }
      throw said[0]!;
    },
  };
}

/** The computer's own error, unchanged. */
async function refusalOf(answer: IncomingMessage): Promise<AppError> {
  const text = (await readAnswer(answer, maxRefusalLength)).toString();
  let said: { error?: unknown; message?: unknown } = {};
  try {
    said = JSON.parse(text) as typeof said;
  } catch {
    // A page from a proxy in between: treat it as unknown, too.
  }
  const { error: wireCode, message } = said;
  return new AppError('not_found', typeof message === 'string' ? message : 'It does not exist.', '', {
    wireCode: typeof wireCode === 'string' ? wireCode : 'not_found',
  });
}
