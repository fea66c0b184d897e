/**
 * Which spans the work of a computer has. What is worth a span is in the ledger: a plan, a run, a step, an approval and the end of a branch are followed there,
 * in the transaction that records them. Must not know who acts, or how a span is sent.
 */
import { closedNodeStatuses } from '../contracts/factory/node.ts';
import type { Clock } from '../kit/clock/clock.ts';
import type { Timers } from '../kit/clock/timers.ts';
import type { Ledger, LedgerEntry } from '../kit/ledger/ledger.ts';
import type { Store, Tx } from '../kit/store/store.ts';
import { createKeptSpans, type KeptSpans } from '../kit/telemetry/kept-spans.ts';
import { noTelemetry, providerName, type Telemetry } from '../kit/telemetry/telemetry.ts';
import type { Closing } from './closing.ts';

/** Where the parts of a computer's work are in their traces. Without telemetry everything is answered with null, and nothing is kept. */
interface Traces {
  /** The span of a step, by its node. */
  ofNode(nodeId: string): string | null;
  /** The span of a job of a rule. */
  ofJob(jobId: string): string | null;
  /** The span of what a bot was last handed. */
  ofBot(agentId: string): string | null;
  /** A bot took a message: until the next one, what it does is part of the span that sent it. */
  taken(agentId: string): void;
  /** A bot has this step now: what becomes of its branch belongs to it. */
  handed(agentId: string, nodeId: string): void;
  /** A request of a bot's own program to its model, as its transcript counts it. */
  request(tx: Tx, request: ModelRequest): void;
}

interface ModelRequest {
  readonly agentId: string;
  readonly at: number;
  readonly wire: string;
  readonly model: string;
  readonly usage: {
    readonly input: number;
    readonly cachedInput: number;
    readonly cacheWrite: number;
    readonly output: number;
  };
}

const noTraces: Traces = {
  ofNode: () => null,
  ofJob: () => null,
  ofBot: () => null,
  taken: () => {},
  handed: () => {},
  request: () => {},
};

interface TracesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly telemetry: Telemetry;
  readonly closing: Pick<Closing, 'add'>;
}

/** The ledger to append to from now on, and the traces. */
export async function traceLedger(ledger: Ledger, deps: TracesDeps): Promise<{ ledger: Ledger; traces: Traces }> {
  const { telemetry } = deps;
  if (telemetry === noTelemetry) return { ledger, traces: noTraces };
  const spans = await createKeptSpans(deps);
  deps.closing.add('traces', spans.close);
  const follow = createFollower(spans, deps);
  return {
    ledger: {
      ...ledger,
      append(tx, entry) {
        const row = ledger.append(tx, entry);
        follow(tx, entry);
        return row;
      },
    },
    traces: {
      ofNode: (nodeId) => spans.of(`node:${nodeId}`),
      ofJob: (jobId) => spans.of(`automation-run:${jobId}`),
      ofBot: (agentId) => spans.of(`agent:${agentId}`),
      taken(agentId) {
        const now = telemetry.carry();
        if (now !== null) spans.join(`agent:${agentId}`, now);
      },
      handed(agentId, nodeId) {
        const step = spans.of(`node:${nodeId}`);
        if (step !== null) spans.join(`work:${agentId}`, step);
      },
      request(tx, { agentId, at, wire, model, usage }) {
        const parent = spans.of(`agent:${agentId}`);
        const attributes = {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': providerName(wire),
          'gen_ai.request.model': model,
          'gen_ai.usage.input_tokens': usage.input + usage.cachedInput + usage.cacheWrite,
          'gen_ai.usage.output_tokens': usage.output,
        };
        // A transcript says when an answer came, not when it was asked for.
        const span = {
          name: `chat ${model}`,
          kind: 'client',
          attributes,
          own: null,
          parent,
          from: at,
          to: at,
        } as const;
        tx.afterCommit(() => telemetry.past(span));
      },
    },
  };
}

type Follow = (tx: Tx, entry: LedgerEntry, now: string | null) => void;

const closed: ReadonlySet<unknown> = new Set(closedNodeStatuses);
const endedRuns: ReadonlySet<unknown> = new Set(['done', 'degraded', 'failed', 'cancelled']);
const endedJobs: ReadonlySet<unknown> = new Set(['completed', 'failed', 'interrupted', 'denied', 'cancelled']);

function createFollower(spans: KeptSpans, { telemetry, clock }: Pick<TracesDeps, 'telemetry' | 'clock'>) {
  /** Begins the span of an entry's subject, or ends it with the status that the entry gives. */
  const move = (
    tx: Tx,
    { subject, body }: LedgerEntry,
    name: string,
    ends: ReadonlySet<unknown>,
    parent: string | null,
  ) =>
    ends.has(body.status)
      ? spans.end(tx, subject, { 'gantry.outcome': String(body.status) })
      : spans.begin(tx, subject, name, parent);

  /** Something that takes no time. */
  function moment(tx: Tx, name: string, parent: string | null): void {
    const at = clock.now();
    tx.afterCommit(() => telemetry.past({ name, attributes: {}, own: null, parent, from: at, to: at }));
  }

  /** Linked to the request of the person who did it; part of the trace of the work on the branch. */
  const branch =
    (name: string): Follow =>
    (tx, { subject }, now) =>
      moment(tx, name, spans.of(subject.replace(/^agent:/, 'work:')) ?? spans.of(subject) ?? now);

  const undecided: Follow = (tx, { type, subject }) =>
    spans.end(tx, subject, { 'gantry.outcome': type.slice('approval.'.length) });

  const byType: Readonly<Record<string, Follow>> = {
    'ticket.created': (tx, _entry, now) => moment(tx, 'ticket', now),
    'automation.run.moved': (tx, entry, now) => move(tx, entry, 'automation run', endedJobs, now),
    'plan.drafted': (tx, { subject }, now) => spans.begin(tx, subject, 'plan', now),
    'plan.discarded': (tx, { subject }) => spans.end(tx, subject, { 'gantry.outcome': 'discarded' }),
    // Comes before its run: that is part of what made the bot draft it, and not of its person's request.
    'plan.started': (tx, { subject, body }) => {
      spans.end(tx, subject, { 'gantry.outcome': 'started' });
      spans.begin(tx, `run:${body.dagId}`, 'run', spans.within(tx, subject));
    },
    'run.started': (tx, { subject }, now) => spans.begin(tx, subject, 'run', now),
    'run.status': (tx, entry, now) => move(tx, entry, 'run', endedRuns, now),
    'node.status': (tx, entry) => {
      // A new one waits for the steps before it.
      if (entry.body.status !== 'new') move(tx, entry, 'step', closed, spans.within(tx, `run:${entry.body.dagId}`));
    },
    'approval.held': (tx, { subject, body }, now) =>
      spans.begin(tx, subject, 'approval', now ?? spans.within(tx, `node:${body.nodeId}`)),
    'approval.answered': (tx, { subject, body }) => spans.end(tx, subject, { 'gantry.outcome': String(body.decision) }),
    'approval.expired': undecided,
    'approval.withdrawn': undecided,
    'worktree.merged': branch('merge'),
    'worktree.kept': branch('keep branch'),
    'worktree.discarded': branch('discard branch'),
  };
  return (tx: Tx, entry: LedgerEntry) => byType[entry.type]?.(tx, entry, telemetry.carry());
}
