/** The moves of a run that a person is notified of. A gate asks as an approval; a limit notifies where it is reached. */
import { runWords } from '../../contracts/events/run-words.ts';
import { type BotEvents, titleOf } from '../events/bot-events.ts';
import type { WorkEvents } from './deps.ts';

/** Asked as an approval, or told where the limit is reached. */
const toldElsewhere: readonly string[] = ['gate', 'over_budget', 'budget', 'usage_limit'];

/** The step, and its result. */
const why = ({ title, cause, detail }: { title: string; cause: string; detail: string | null }): string =>
  titleOf(`${title}: ${titleOf(detail ?? '') || cause.replaceAll('_', ' ')}`);

export function workEvents(events: BotEvents): WorkEvents {
  return {
    needsUser(tx, run, { dagId, nodeId, assignee, ...node }, id) {
      if (toldElsewhere.includes(node.cause)) return;
      const reason = runWords(run.title, why(node));
      events.emit(tx, assignee, { type: 'thread.needs_user', id, data: { reason, dagId, nodeId } });
    },
    ended(tx, { dagId, title, status }, failed, id) {
      const data = { runId: dagId, status, title: runWords(title, failed === null ? '' : why(failed)) };
      events.emit(tx, null, { type: 'agent.run.completed', id, data });
    },
  };
}
