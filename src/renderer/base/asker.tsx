/** Who asks for an approval, with links: the bot that asks, and the step or run it asks for. */
import { Link } from '@tanstack/react-router';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { askerWords } from '../ui/approval-words.ts';
import { useComputerName } from './computers.tsx';
import type { PlacedBot } from './data/places.ts';
import { useBots } from './floors.tsx';
import { dispatchWindowEvent } from './window-events.ts';

const link = 'rounded-control text-left break-words text-ink underline decoration-line-strong hover:decoration-current';

export function Asker({ approval, showNode = true }: { approval: Approval; showNode?: boolean }) {
  const agent = useBots().find((one) => one.id === approval.agentId);
  const { source, dagId, nodeId, runId } = approval;
  const bot =
    agent === undefined ? (
      approval.agentId
    ) : (
      <button
        type="button"
        className={link}
        onClick={() =>
          dispatchWindowEvent('platform:factory-attach-pane', {
            paneId: agent.pane?.id ?? agent.id,
            botId: agent.id,
            originView: 'inbox',
          })
        }
      >
        {agent.address}
      </button>
    );
  const step =
    source === 'automation' && runId !== undefined ? (
      <Link to="/connectors" search={{ run: runId, computer: agent?.place.scope ?? undefined }} className={link}>
        its job
      </Link>
    ) : !showNode || dagId === undefined || nodeId === undefined ? null : (
      <button
        type="button"
        className={link}
        onClick={() => dispatchWindowEvent('platform:factory-open-node', { dagId, nodeId })}
      >
        {bot === null ? 'A step of a run' : 'its step'}
      </button>
    );
  return (
    <>
      {bot ?? (step === null ? askerWords(approval) : null)}
      {bot !== null && step !== null && ' · '}
      {step}
      {agent !== undefined && <OnWhich bot={agent} />}
    </>
  );
}

function OnWhich({ bot }: { bot: PlacedBot }) {
  const computer = useComputerName(bot);
  return computer === null ? null : ` on ${computer}`;
}
