/** What of a run's moves a person hears of. A gate asks as an approval; what a limit holds is told where it is reached. */
import { type BotEvents, titleOf } from './bot-events.ts';
import type { WorkEvents } from './workflows/deps.ts';

export function workEvents(events: BotEvents): WorkEvents {
  return {
    needsUser(tx, { dagId, nodeId, title, cause, detail, assignee }, id) {
      if (cause === 'gate' || cause === 'budget' || cause === 'usage_limit') return;
      const reason = titleOf(`${title}: ${detail ?? cause.replaceAll('_', ' ')}`);
      events.emit(tx, assignee, { type: 'thread.needs_user', id, data: { reason, dagId, nodeId } });
    },
    ended(tx, { dagId, title, status }, id) {
      const data = { runId: dagId, status, title: titleOf(title) };
      events.emit(tx, null, { type: 'agent.run.completed', id, data });
    },
  };
}
