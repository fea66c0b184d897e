/** Connects schedules to the rest of the factory. */

import type { Registry } from '../../agents/registry.ts';
import type { BotEvents } from '../../events/bot-events.ts';
import type { Policy } from '../../policy/index.ts';
import type { Workflows } from '../index.ts';
import { createSchedules, type Schedules, type SchedulesDeps } from './index.ts';

/** The name of the action in rules of the policy. */
const tool = 'workflows.schedule';

export function composeSchedules(
  deps: Omit<SchedulesDeps, 'runs' | 'timezone' | 'mayBot' | 'failed'> & {
    readonly workflows: Pick<Workflows, 'runs'>;
    readonly policy: Policy;
    readonly botEvents: BotEvents;
    readonly registry: Pick<Registry, 'find'>;
  },
): Schedules {
  return createSchedules({
    ...deps,
    runs: deps.workflows.runs,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    mayBot(agentId) {
      const bot = deps.registry.find(agentId)?.address;
      return bot !== undefined && deps.policy.decide({ tool, bot }, null).verdict === 'allow';
    },
    failed(tx, title, reason, id) {
      const said = `The schedule "${title}" could not start its run: ${reason}`.slice(0, 500);
      deps.botEvents.emit(tx, null, { type: 'thread.needs_user', id: `schedule:${id}`, data: { reason: said } });
    },
  });
}
