/**
 * One turn of a hosted bot, from a message to its end: the loop over the model, kept line by line, with its tools, its pauses while the
 * model's service cannot be had, and what is told to thread and node at the end. Must not know queues, gates or panes.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { HostedMode } from '../../../contracts/factory/team-file.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Target } from '../../models/endpoints.ts';
import type { TurnEnd, TurnHooks, TurnLimits, Used } from '../../models/loop.ts';
import type { FaultKind, ToolCall, ToolOffer, ToolResult, Usage } from '../../models/model.ts';
import { type ToolCaller, type ToolInfo, type ToolOutcome, toolCalled } from '../../tool-server/index.ts';
import { messagesOf } from './conversation.ts';
import type { HostedDeps, NodeRef } from './deps.ts';
import { systemFor } from './instructions.ts';
import type { HostedSpec } from './spec.ts';
import { addLine, dropTurn, insertTurn, lastLines, moveTurn, type TurnRecord, type TurnStatus } from './store.ts';

export interface TurnOrder {
  readonly record: TurnRecord;
  readonly text: string;
  readonly spec: HostedSpec;
  readonly mode: HostedMode;
  readonly target: Target;
  readonly limits: TurnLimits;
}

export interface TurnEvents {
  /** The model has taken the message. */
  accepted(): void;
  /** It waits for the model's service; null: it goes on. */
  waiting(wait: { readonly why: string; readonly person: boolean } | null): void;
  /** A person is asked; null: no more. */
  asking(title: string | null): void;
}

/** Why no model took a message. */
export interface NotTaken {
  readonly kind: FaultKind;
  readonly message: string;
  readonly retryAt: number | null;
}

export type TurnOutcome =
  /** The model never took the message: nothing of it is left. */
  | { readonly how: 'not_taken'; readonly fault: NotTaken }
  | { readonly how: 'done' | 'refused' | 'limit' | 'stopped' | 'failed'; readonly reason: string | null };

export interface RunningTurn {
  readonly record: TurnRecord;
  /** Rejects only for faults of our own; the turn then stays open in its rows. */
  readonly outcome: Promise<TurnOutcome>;
  /** Approvals that it waits for. */
  approvals(): readonly string[];
  stop(why: string): void;
  /** Leaves everything as it is, to be found as interrupted. */
  abandon(): void;
}

/** Faults that end by themselves or by a person's hand: the turn waits for that, since nothing of it has to be done again. */
const waitsFor: readonly FaultKind[] = ['limit', 'overloaded', 'unreachable', 'key', 'unknown_model'];
/** Pauses where the service named no time; then the turn fails. Milliseconds. */
export const pausesMs = [60_000, 5 * 60_000, 15 * 60_000, 15 * 60_000];
/** How much of a conversation is read back for the model, lines. */
const linesRead = 2000;
/** How often a bot is told that its step is not done yet. */
const mostNudges = 2;
const longestOutput = 20_000;

export function startTurn(deps: HostedDeps, order: TurnOrder, events: TurnEvents): RunningTurn {
  const { store, clock } = deps;
  const { record, spec, target } = order;
  const abort = new AbortController();
  const node: NodeRef | null =
    record.duty === null || record.dagId === null || record.nodeId === null
      ? null
      : { dagId: record.dagId, nodeId: record.nodeId };
  const source =
    node === null
      ? { kind: 'message' as const, ref: record.deliveryId }
      : { kind: 'workflow' as const, ref: `${node.dagId}/${node.nodeId}` };
  let accepted = false;
  let abandoned = false;
  let stopReason: string | null = null;
  let env: Readonly<Record<string, string>> = {};
  let reported = false;
  let lastTool: ToolOutcome | null = null;
  let asked: string | null = null;
  let askedSince: number | null = null;
  let askedMs = 0;
  const sum = { inputTokens: 0, outputTokens: 0, microUsd: 0, unpriced: 0 };

  const begin = () =>
    store.write((tx) => {
      insertTurn(tx, record);
      addLine(tx, record.agentId, record.id, record.startedAt, { kind: 'user', text: order.text });
    });

  const hooksFor = (folder: string): TurnHooks => ({
    started() {
      if (accepted) return;
      accepted = true;
      store
        .write((tx) => {
          moveTurn(tx, record.id, 'running', null, null);
          deps.runs.begin(tx, { id: record.id, botId: record.agentId, source, at: record.startedAt });
        })
        .catch((error: unknown) =>
          deps.log.warn('The start of a turn could not be written.', { error: String(error) }),
        );
      events.accepted();
    },
    answered: (message, usage) => store.write((tx) => keepAnswer(tx, message, usage)),
    call: (call, signal) => callTool(call, signal, folder),
    result: (result) => store.write((tx) => keepResult(tx, result)),
    waiting: (reason) => {
      if (accepted) events.waiting(reason === null ? null : { why: reason, person: false });
    },
    idleMs: () => askedMs + (askedSince === null ? 0 : clock.monotonic() - askedSince),
  });

  const keepAnswer = (tx: Tx, message: Parameters<TurnHooks['answered']>[0], usage: Usage): number | null => {
    const at = clock.now();
    addLine(tx, record.agentId, record.id, at, { kind: 'assistant', message });
    const id = deps.ids.next('spend');
    const { wire, model } = target;
    const microUsd = deps.models.record(tx, { id, at, agentId: record.agentId, runId: record.id, wire, model, usage });
    sum.inputTokens += usage.input + usage.cachedInput + usage.cacheWrite;
    sum.outputTokens += usage.output;
    sum.microUsd += microUsd ?? 0;
    sum.unpriced += microUsd === null ? 1 : 0;
    return microUsd;
  };

  const keepResult = (tx: Tx, result: ToolResult) => {
    addLine(tx, record.agentId, record.id, clock.now(), { kind: 'result', result });
    const outcome = lastTool;
    lastTool = null;
    const told = outcome === null ? null : toolCalled(result.name, outcome);
    if (told === null) return;
    deps.ledger.append(tx, {
      type: told.type,
      actor: record.agentId,
      surface: 'hosted',
      subject: `agent:${record.agentId}`,
      body: { ...told.body, runId: record.id },
    });
  };

  const callTool = async (call: ToolCall, signal: AbortSignal, folder: string): Promise<ToolResult> => {
    const caller: ToolCaller = {
      bot: { agentId: record.agentId, address: spec.address },
      client: `bot:${record.agentId}`,
      actor: record.agentId,
      surface: 'hosted',
      mode: order.mode,
      root: folder,
      workspace: deps.workspace,
      env,
      signal,
      patienceMs: null,
      runId: record.id,
      dagId: node?.dagId,
      nodeId: node?.nodeId,
    };
    if (call.problem !== undefined) return { callId: call.id, name: call.name, text: call.problem, isError: true };
    const outcome = await deps.tools.call(call.name, call.input, caller, {
      asking(question) {
        asked = question?.id ?? null;
        if (question !== null) askedSince = clock.monotonic();
        else if (askedSince !== null) {
          askedMs += clock.monotonic() - askedSince;
          askedSince = null;
        }
        events.asking(question?.title ?? null);
      },
    });
    lastTool = outcome;
    if (!outcome.isError && (call.name === 'node.done' || call.name === 'node.fail')) reported = true;
    return { callId: call.id, name: call.name, text: outcome.text, isError: outcome.isError };
  };

  const ask = async (folder: string, used: Used): Promise<TurnEnd> => {
    const messages = messagesOf(await store.read((tx) => lastLines(tx, record.agentId, linesRead)));
    askedMs = 0;
    return deps.models.run(
      target,
      {
        system: systemFor({ ...spec, folder }, order.mode, node !== null),
        messages,
        tools: offersOf(deps.tools.list({ onNode: node !== null })),
        maxOutputTokens: deps.models.maxOutputTokens,
        limits: order.limits,
        used,
        signal: abort.signal,
      },
      hooksFor(folder),
    );
  };

  /** Asks until the turn ends, also over the times in which the service cannot be had. */
  const askThrough = async (folder: string, from: Used): Promise<TurnEnd> => {
    let used = from;
    for (let waits = 0; ; waits += 1) {
      const end = await ask(folder, used);
      const { fault } = end;
      if (fault === null || !accepted || !waitsFor.includes(fault.kind)) return end;
      const pause = pausesMs[waits];
      if (pause === undefined) return end;
      used = end.used;
      const until = fault.retryAt ?? clock.now() + pause;
      const person = fault.kind === 'key' || fault.kind === 'unknown_model';
      const why = `${fault.message} It goes on at ${new Date(until).toISOString()}.`;
      await store.write((tx) => moveTurn(tx, record.id, 'waiting', why, null));
      events.waiting({ why, person });
      await sleepUntil(until);
      if (abandoned) return end;
      await store.write((tx) => moveTurn(tx, record.id, 'running', null, null));
      events.waiting(null);
    }
  };

  const sleepUntil = (until: number): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        cancel();
        abort.signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = deps.timers.after(Math.max(0, until - clock.now()), done);
      if (abort.signal.aborted) done();
      else abort.signal.addEventListener('abort', done, { once: true });
    });

  /** The end of the model's words, or of a step that is not done yet and is told so. */
  const askToTheEnd = async (folder: string): Promise<TurnEnd> => {
    let used: Used = { steps: 0, tokens: 0, activeMs: 0, microUsd: 0 };
    for (let nudges = 0; ; nudges += 1) {
      const end = await askThrough(folder, used);
      if (node === null || reported || end.how !== 'done' || nudges >= mostNudges) return end;
      const missing = await reportByText(node, end.text);
      if (missing === null) return end;
      used = end.used;
      await store.write((tx) => addLine(tx, record.agentId, record.id, clock.now(), { kind: 'user', text: missing }));
    }
  };

  /** The last text counts as the result of a step. Answers what is still missing, or null. */
  const reportByText = async (ref: NodeRef, text: string): Promise<string | null> => {
    if (record.duty === 'review') {
      return 'From Gantry\n\nYou were asked for a verdict: call node.done if it holds, or node.fail with the reason if it does not.';
    }
    try {
      await deps.nodes.done(ref, spec.address, { output: text.slice(0, longestOutput) });
      reported = true;
      return null;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return `From Gantry\n\nThe step is not done. ${error.fact} Use node.proof for each line, then node.done, or give it up with node.fail.`;
    }
  };

  const finish = async (end: TurnEnd): Promise<TurnOutcome> => {
    const how = end.how === 'fault' ? ('failed' as const) : end.how;
    const reason = how === 'stopped' ? (stopReason ?? end.reason) : end.reason;
    const status: TurnStatus = how;
    const at = clock.now();
    const error = how === 'done' ? null : reason;
    await store.write((tx) => {
      moveTurn(tx, record.id, status, reason, at);
      deps.runs.end(tx, record.id, {
        status: how === 'done' ? 'completed' : how === 'stopped' ? 'cancelled' : 'failed',
        at,
        usage: {
          inputTokens: sum.inputTokens,
          outputTokens: sum.outputTokens,
          ...(sum.unpriced === 0 && { cents: sum.microUsd / 10_000 }),
        },
        output: end.text === '' ? null : end.text.slice(0, longestOutput),
        error,
      });
    });
    if (record.threadId !== null) await tell(record.threadId, answerOf(how, end.text, reason));
    if (node !== null && !reported) await giveUp(node, how, end.text, reason);
    return { how, reason };
  };

  const tell = async (threadId: string, text: string): Promise<void> => {
    await deps.reply(spec, threadId, text, `turn:${record.id}`).catch((error: unknown) => {
      deps.log.warn(`The answer of ${spec.address} could not be put into its thread.`, {
        threadId,
        error: String(error),
      });
    });
  };

  const giveUp = async (ref: NodeRef, how: TurnEnd['how'] | 'failed', text: string, reason: string | null) => {
    const why = how === 'done' ? `It ended without a report. It said: ${text.slice(0, 1000)}` : (reason ?? how);
    await deps.nodes.fail(ref, spec.address, why).catch((error: unknown) => {
      // The node may have gone its way meanwhile: cancelled, timed out, taken over.
      if (!(error instanceof AppError))
        deps.log.warn(`${spec.address} could not give up its step.`, { ...ref, error: String(error) });
    });
  };

  const run = async (): Promise<TurnOutcome> => {
    let folder: string;
    try {
      folder = await deps.folderOf(spec);
      env = await deps.envOf(spec);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { how: 'not_taken', fault: { kind: 'invalid', message: `${error.fact} ${error.action}`, retryAt: null } };
    }
    await begin();
    const end = await askToTheEnd(folder);
    if (abandoned) {
      // Its rows stay as they are, to be found at the next start.
      const fault = { kind: 'stopped' as const, message: 'Gantry stops.', retryAt: null };
      return accepted ? { how: 'stopped', reason: null } : { how: 'not_taken', fault };
    }
    if (!accepted) {
      // Refused before it was taken: the message goes back into its queue as if it had never been tried.
      await store.write((tx) => dropTurn(tx, record.id));
      const fault = end.fault ?? { kind: 'stopped' as const, message: stopReason ?? 'It was stopped.', retryAt: null };
      return { how: 'not_taken', fault };
    }
    return finish(end);
  };

  return {
    record,
    outcome: run(),
    approvals: () => (asked === null ? [] : [asked]),
    stop(why) {
      stopReason ??= why;
      abort.abort();
    },
    abandon() {
      abandoned = true;
      abort.abort();
    },
  };
}

/** What a model is offered: some take no more tools than these and no longer names, and refuse the whole request for one. */
const mostOffered = 128;
const offerable = /^[A-Za-z0-9_.-]{1,64}$/;

function offersOf(tools: readonly ToolInfo[]): ToolOffer[] {
  const own = tools.filter((tool) => tool.server === null);
  const attached = tools.filter((tool) => tool.server !== null && offerable.test(tool.name));
  return [...own, ...attached]
    .slice(0, mostOffered)
    .map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }));
}

function answerOf(how: string, text: string, reason: string | null): string {
  if (how === 'done') return text === '' ? '(It ended without words.)' : text;
  if (how === 'refused') return text === '' ? `(${reason ?? 'The model declined.'})` : text;
  const ended = `(It did not finish: ${reason ?? how})`;
  return text === '' ? ended : `${text}\n\n${ended}`;
}
