/** One turn of an agent over ACP, from a message to its end, in its rows. Must not know queues, gates or how the agent runs. */
import type { Recorder } from './conversation.ts';
import type { AcpDeps } from './deps.ts';
import { type AgentLink, LinkFault } from './link.ts';
import { insertTurn, markAnswered, moveTurn, type TurnRecord, type TurnStatus } from './store.ts';

export interface TurnOutcome {
  readonly how: 'done' | 'refused' | 'limit' | 'stopped' | 'failed';
  readonly reason: string | null;
  /** The agent answered, with whatever: it had the message. */
  readonly isAnswered: boolean;
}

export interface RunningTurn {
  readonly record: TurnRecord;
  /** The agent shows that it has the message. */
  readonly taken: Promise<void>;
  /** Never rejects. */
  readonly outcome: Promise<TurnOutcome>;
  /** The agent reported something. */
  heard(): void;
  /** Why it is being ended, for its record. */
  stop(why: string): void;
}

const stops: Readonly<Record<string, Pick<TurnOutcome, 'how' | 'reason'>>> = {
  end_turn: { how: 'done', reason: null },
  refusal: { how: 'refused', reason: 'The agent declined the last message.' },
  max_tokens: { how: 'limit', reason: 'The agent reached the longest answer of its model.' },
  max_turn_requests: { how: 'limit', reason: 'The agent reached its limit of requests for one turn.' },
  cancelled: { how: 'stopped', reason: 'It was cancelled.' },
};

export async function startTurn(
  deps: Pick<AcpDeps, 'store' | 'clock' | 'log' | 'reply'>,
  order: {
    readonly record: TurnRecord;
    /** Texts for the agent; the last one is the message. */
    readonly texts: readonly string[];
    readonly link: AgentLink;
    readonly recorder: Recorder;
    /** Gantry ends, and leaves everything to be found as interrupted. */
    readonly closing: AbortSignal;
  },
): Promise<RunningTurn> {
  const { store, clock, log } = deps;
  const { record, link, recorder, closing } = order;
  const taken = Promise.withResolvers<void>();
  let isTaken = false;
  let stopped: string | null = null;

  recorder.user(order.texts.at(-1) ?? '');
  await store.write((tx) => {
    insertTurn(tx, record);
    recorder.writeInto(tx);
    recorder.prune(tx);
  });

  const take = () => {
    if (isTaken) return;
    isTaken = true;
    store
      .write((tx) => moveTurn(tx, record.id, { status: 'running' }))
      .catch((error: unknown) => {
        log.warn('The start of a turn could not be saved.', { turn: record.id, error: String(error) });
      });
    taken.resolve();
  };

  async function run(): Promise<TurnOutcome> {
    const ended = await link.prompt(order.texts).then(
      ({ stopReason }): TurnOutcome => ({ ...(stops[stopReason] ?? { how: 'done', reason: null }), isAnswered: true }),
      (error: unknown): TurnOutcome => ({
        how: 'failed',
        reason: error instanceof Error ? error.message : String(error),
        isAnswered: error instanceof LinkFault && error.kind === 'refused',
      }),
    );
    if (closing.aborted) return ended;
    const outcome = stopped === null ? ended : { ...ended, how: 'stopped' as const, reason: stopped };
    const said = recorder.lastText();
    if (outcome.how !== 'done') recorder.note(outcome.reason ?? outcome.how);
    recorder.endAll();
    await save(outcome, said);
    return outcome;
  }

  async function save({ how, reason }: TurnOutcome, said: string): Promise<void> {
    const answer = record.threadId === null ? null : answerOf(how, said, reason);
    const status: TurnStatus = how;
    try {
      await store.write((tx) => {
        recorder.writeInto(tx);
        moveTurn(tx, record.id, { status, reason, endedAt: clock.now(), answer });
      });
    } catch (error) {
      log.warn('The end of a turn could not be saved.', { turn: record.id, error: String(error) });
      return;
    }
    if (answer !== null && record.threadId !== null)
      await tellThread(deps, { id: record.id, agentId: record.agentId, threadId: record.threadId, answer });
  }

  return {
    record,
    taken: taken.promise,
    outcome: run(),
    heard: take,
    stop(why) {
      stopped ??= why;
    },
  };
}

/** Told once, however often it is tried. */
export async function tellThread(
  { store, clock, log, reply }: Pick<AcpDeps, 'store' | 'clock' | 'log' | 'reply'>,
  turn: { readonly id: string; readonly agentId: string; readonly threadId: string; readonly answer: string },
): Promise<void> {
  try {
    await reply(turn.agentId, turn.threadId, turn.answer, `turn:${turn.id}`);
    await store.write((tx) => markAnswered(tx, turn.id, clock.now()));
  } catch (error) {
    log.warn('The answer of an agent could not be posted to its thread.', { turn: turn.id, error: String(error) });
  }
}

function answerOf(how: TurnOutcome['how'], said: string, reason: string | null): string {
  if (how === 'done') return said === '' ? '(It ended without an answer.)' : said;
  const ended = `(It did not finish: ${reason ?? how})`;
  return said === '' ? ended : `${said}\n\n${ended}`;
}
