/** `gantry orchestration events`: the event stream, line by line, or a piece of it as one document. */
import type { Approval } from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { EventEnvelope } from '../../contracts/factory/events.ts';
import { connectEvents } from '../approvals/home.ts';
import { type Action, integer, optionalText } from '../command.ts';
import { inCell, oneLine, spoken } from '../words.ts';

/** Seconds that `--json` listens without a given time or number of events. */
const shortLook = 2;

interface Shown {
  readonly id: string | null;
  readonly type: string;
  readonly at: string;
  readonly data: unknown;
}

export const events: Action = async (context, input) => {
  const limit = integer(input, 'limit', 1, 1_000_000);
  const seconds =
    integer(input, 'for', 0, 86_400) ?? (context.output.json && limit === undefined ? shortLook : undefined);
  const after = optionalText(input, 'after');
  const source = await connectEvents(context);
  const seen: Shown[] = [];
  let number = 0;

  const stream = source.factoryEvents(
    { query: after === undefined ? {} : { after } },
    {
      onEvent(event) {
        const envelope = EventEnvelope.safeParse(event.data);
        const shown: Shown = envelope.success
          ? { id: event.id, ...envelope.data }
          : { id: event.id, type: event.event, at: new Date(context.now()).toISOString(), data: event.data };
        number += 1;
        if (context.output.json) seen.push(shown);
        else context.output.line(inWords(shown));
        if (number === limit) stream.close();
      },
      onState(state) {
        if (state.kind === 'waiting')
          context.output.note(`${state.error.fact} Retrying in ${Math.ceil(state.retryInMs / 1000)} s.`);
      },
    },
  );
  const stop = (): void => stream.close();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const timer = seconds === undefined ? null : setTimeout(stop, seconds * 1000);
  const error = await stream.ended;
  if (timer !== null) clearTimeout(timer);
  process.off('SIGINT', stop);
  process.off('SIGTERM', stop);
  if (error instanceof AppError) throw error;
  if (context.output.json) context.output.result({ events: seen, lastEventId: stream.lastEventId() }, () => '');
  return undefined;
};

function inWords(event: Shown): string {
  const time = event.at.slice(11, 19);
  return `${time}  ${inCell(event.id ?? 'live').padStart(6)}  ${inCell(event.type).padEnd(18)}  ${oneLine(summary(event), 300)}`;
}

function summary(event: Shown): string {
  const data = typeof event.data === 'object' && event.data !== null ? (event.data as Record<string, unknown>) : {};
  const word = (name: string): string => (typeof data[name] === 'string' ? spoken(data[name]) : '');
  if (event.type === 'agent.state') return `${data.agentId} is ${word('state')}`;
  if (event.type === 'delivery') {
    return `to ${data.to}: ${word('state')}${typeof data.detail === 'string' ? ` (${data.detail})` : ''}`;
  }
  if (event.type === 'trust.changed') {
    const waits = Array.isArray(data.waits) ? data.waits.map(String) : [];
    return waits.length === 0 ? 'nothing waits for your yes' : `waits for your yes: ${oneLine(waits.join(', '), 200)}`;
  }
  if (event.type === 'agent.account') return `${data.agentId} continues with the account ${data.to}`;
  if (event.type === 'team.changed') return `${data.team}: ${word('change')}`;
  if (event.type === 'approval.requested') return `${data.id}: ${word('title')}`;
  if (event.type === 'approval.resolved') {
    const by = data.resolvedBy as Approval['resolvedBy'] | undefined;
    const how = data.decision === null ? 'withdrawn' : data.decision === 'approve' ? 'approved' : 'rejected';
    return `${data.id}: ${how} by ${by?.user} via ${by?.surface}, ${word('title')}`;
  }
  return JSON.stringify(event.data);
}
