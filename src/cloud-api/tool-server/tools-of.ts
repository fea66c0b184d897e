/** All tools of a caller's computer, for callers who see only some of them. Keeps the last lists in memory. Must not know who may see which. */
import { AppError } from '../../contracts/common/errors.ts';
import { listTools, type ToolInfo } from '../../contracts/tool-server/tools.ts';
import { Unanswered } from '../link/ask.ts';
import type { EngineQuestion, Engines } from '../link/engines.ts';
import { unavailable } from '../link/pass-to-engine.ts';
import { readAnswer } from '../link/read-answer.ts';
import { createLastLists } from './last-lists.ts';

/** Bytes. */
const maxListLength = 64 * 1024 * 1024;

/**
 * `fresh`: as the computer lists them now; else as it last did, if that is known. Throws `transport` where nothing is known and the computer is away.
 */
export type ListedTools = (context: EngineQuestion['context'], fresh: boolean) => Promise<readonly ToolInfo[]>;

export function createToolsOf({
  engines,
  advice,
}: {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
}): ListedTools {
  const lists = createLastLists();
  const read = (text: string) => (JSON.parse(text) as { readonly tools: readonly ToolInfo[] }).tools;

  async function ask(context: EngineQuestion['context'], computerId: string): Promise<string> {
    try {
      const { path, method } = listTools;
      const answer = await engines.ask({ context, computerId, path, method });
      const text = (await readAnswer(answer, maxListLength)).toString();
      if (answer.statusCode === 200) return text;
      throw new AppError('transport', `The computer listed no tools (HTTP ${answer.statusCode}).`, advice);
    } catch (thrown) {
      throw thrown instanceof Unanswered ? unavailable(thrown, advice) : thrown;
    }
  }

  return async (context, fresh) => {
    const { computerId } = await engines.targetOf(context);
    const place = [context.principal.userId, computerId];
    const last = lists.find(place);
    if (!fresh && last !== null) return read(last);
    try {
      const text = await ask(context, computerId);
      lists.keep(place, text);
      return read(text);
    } catch (thrown) {
      const away = thrown instanceof AppError && thrown.code === 'transport';
      if (!away || last === null) throw thrown;
      return read(last);
    }
  };
}
