/** The state of a bot. While a question of it is open it needs its person, whatever its program is at: the asking is work to the program. */
import type { Agent } from '../../contracts/factory/agent.ts';
import { agentStatus, lastKnown, Status } from '../ui/status.tsx';
import { useQuestionsOf } from './approvals.ts';

export function BotStatus({
  bot,
  away = false,
  iconOnly,
}: {
  bot: Agent;
  /** What is known of it is old. */
  away?: boolean;
  iconOnly?: boolean;
}) {
  const asks = useQuestionsOf(bot.id).length > 0;
  const state = asks && !away ? 'needs_you' : bot.state;
  const look = agentStatus[state];
  return <Status look={away ? lastKnown(look) : look} wire={state} iconOnly={iconOnly} />;
}
