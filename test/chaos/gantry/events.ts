/** A tracker that posts signed events, and what became of them: one ticket each, in the tracker's order. */
import type { Connector } from '../../../src/contracts/connectors/connector.ts';
import type { Subscription } from '../../../src/contracts/connectors/subscription.ts';
import { disorder, look, missing } from '../../faults/connector-events/kill/verdicts.ts';
import type { Caller } from '../../support/bench/http.ts';
import { startIssueTracker } from '../../support/issue-tracker/tracker.ts';

/** Milliseconds before the tracker tries again, again and again: nothing may be given up there, that is not what is looked at. */
const patience = [250, 500, ...Array.from({ length: 5_000 }, () => 1_000)];
const projectName = 'shed';

export interface Events {
  open(): void;
  /** Sentences. */
  lost(): string[];
  disorder(): string[];
  opened(): number;
  close(): Promise<void>;
}

/** `engine`: of the computer whose bot gets the tickets; `file`: its database. */
export async function startEvents(engine: Caller, botId: string, file: string): Promise<Events> {
  const tracker = await startIssueTracker({ anonymous: 'ada', limits: { retries: patience } });
  const connector = await engine.call<Connector>('POST', '/api/v1/mcp/connectors', {
    name: 'tracker',
    url: tracker.url,
  });
  const { subscription } = await engine.call<{ subscription: Subscription }>(
    'POST',
    `/api/v1/mcp/connectors/${connector.id}/events`,
    { name: 'issue.opened', arguments: { project: projectName }, botId },
  );
  if (subscription.status !== 'active') throw new Error(`The subscription is ${JSON.stringify(subscription)}.`);
  const ids: string[] = [];
  const told = new Map([[subscription.id, ids]]);
  return {
    open() {
      const { happening } = tracker.issues.open({ project: projectName, title: `Issue ${ids.length + 1}` });
      ids.push(happening.eventId);
    },
    lost: () => missing(look(file), told).map((ref) => `event ${ref} was taken and never became a ticket`),
    disorder: () => disorder(look(file), told),
    opened: () => ids.length,
    close: () => tracker.close(),
  };
}
