/**
 * One turn: the model is asked, its calls are carried out, it is asked again, until it has nothing more to do or a limit is reached.
 * What each step says is handed on to be kept before anything acts on it, so a turn that is cut off can be told from its records.
 * Must not know bots, stores, tools or vendors.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import {
  type Answer,
  type FaultKind,
  type Message,
  ModelFault,
  type ModelPort,
  noUsage,
  type ToolCall,
  type ToolOffer,
  type ToolResult,
  type Usage,
  type Wire,
} from './model.ts';

export interface TurnLimits {
  /** Times that the model is asked. */
  readonly steps: number;
  /** Input and output together, over all steps. */
  readonly tokens: number;
  /** Without the time in which a person is waited for. */
  readonly minutes: number;
  /** Dollars; null: no limit. */
  readonly usd: number | null;
}

/** What was used up before: a turn that goes on after a pause has not got its limits anew. */
export interface Used {
  readonly steps: number;
  readonly tokens: number;
  readonly activeMs: number;
  readonly microUsd: number;
}

export interface TurnEnd {
  /** done: the model ended it · refused · limit: one of {@link TurnLimits}, or its longest answer · stopped: by us · fault. */
  readonly how: 'done' | 'refused' | 'limit' | 'stopped' | 'fault';
  /** The last text of the model. */
  readonly text: string;
  /** In words; null when done. */
  readonly reason: string | null;
  readonly fault: ModelFault | null;
  readonly used: Used;
}

export interface TurnHooks {
  /** The model has taken a request; told for each. */
  started(): void;
  /** To be kept before its calls are carried out. Answers what the step cost, millionths of a dollar; null: not known. */
  answered(message: Extract<Message, { role: 'assistant' }>, usage: Usage): Promise<number | null>;
  /** Carries a call out. Never rejects for what the tool refuses. */
  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
  /** To be kept before the next call. */
  result(result: ToolResult): Promise<void>;
  /** Waits for another try, or goes on (null). */
  waiting(reason: string | null): void;
  /** Time spent waiting for a person so far, milliseconds. */
  idleMs(): number;
}

export interface Turn {
  readonly wire: Wire;
  readonly model: string;
  readonly system: string;
  /** Everything before, with what starts this turn at its end. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolOffer[];
  readonly maxOutputTokens: number;
  readonly limits: TurnLimits;
  readonly used: Used;
  readonly signal: AbortSignal;
}

export interface LoopDeps {
  readonly port: ModelPort;
  readonly clock: Clock;
  readonly timers: Timers;
  /** 0 ≤ n < 1. */
  readonly random: () => number;
}

/** Faults that may be over in a moment: asking again repeats no act, since calls are carried out only once an answer is whole. */
const passing: readonly FaultKind[] = ['overloaded', 'unreachable', 'cut', 'garbage'];
/** Pauses before the second and third try. Milliseconds; up to half as much is added by chance. */
const pausesMs = [1000, 4000];

export async function runTurn(deps: LoopDeps, turn: Turn, hooks: TurnHooks): Promise<TurnEnd> {
  const { clock } = deps;
  const began = clock.monotonic();
  const messages = [...turn.messages];
  let { steps, tokens, microUsd } = turn.used;
  let text = '';
  const used = (): Used => ({
    steps,
    tokens,
    microUsd,
    activeMs: turn.used.activeMs + Math.max(0, clock.monotonic() - began - hooks.idleMs()),
  });
  const end = (how: TurnEnd['how'], reason: string | null, fault: ModelFault | null = null): TurnEnd => ({
    how,
    text,
    reason,
    fault,
    used: used(),
  });
  // The time limit also ends a step that hangs; time in which a person is waited for does not count.
  const clockwork = timeLimit(deps, turn, () => used().activeMs);
  const signal = AbortSignal.any([turn.signal, clockwork.signal]);

  const overLimit = (): string | null => {
    const { limits } = turn;
    if (clockwork.signal.aborted) return `${limits.minutes} minutes`;
    if (steps >= limits.steps) return `${limits.steps} steps`;
    if (tokens >= limits.tokens) return `${limits.tokens} tokens`;
    if (limits.usd !== null && microUsd >= limits.usd * 1e6) return `${limits.usd} dollars`;
    return null;
  };

  try {
    for (;;) {
      if (turn.signal.aborted) return end('stopped', 'It was stopped.');
      const over = overLimit();
      if (over !== null) return end('limit', `It reached its limit of ${over}.`);
      let answer: Answer;
      try {
        answer = await askPatiently(deps, turn, messages, signal, hooks);
      } catch (error) {
        if (!(error instanceof ModelFault)) throw error;
        if (error.kind !== 'stopped') return end('fault', error.message, error);
        if (turn.signal.aborted) return end('stopped', 'It was stopped.');
        return end('limit', `It reached its limit of ${turn.limits.minutes} minutes.`);
      }
      steps += 1;
      const usage = answer.usage ?? noUsage;
      tokens += usage.input + usage.cachedInput + usage.cacheWrite + usage.output;
      // Calls of a cut or refused answer may be incomplete: they are not part of what was said.
      const calls = answer.stop === 'tools' ? answer.calls : [];
      const whole = answer.stop === 'tools' || answer.stop === 'end';
      const said: Extract<Message, { role: 'assistant' }> = {
        role: 'assistant',
        text: answer.text,
        calls,
        ...(whole && answer.native !== null && { native: { wire: turn.wire, content: answer.native } }),
      };
      microUsd += (await hooks.answered(said, usage)) ?? 0;
      messages.push(said);
      text = answer.text === '' ? text : answer.text;
      if (answer.stop === 'refusal') return end('refused', 'The model declined to go on.');
      if (answer.stop === 'length') return end('limit', 'The answer of the model was cut off at its greatest length.');
      if (calls.length === 0) return end('done', null);
      const results: ToolResult[] = [];
      for (const call of calls) {
        const stopped = signal.aborted;
        const result = stopped ? notRun(call, 'It was stopped before this was run.') : await hooks.call(call, signal);
        await hooks.result(result);
        results.push(result);
      }
      messages.push({ role: 'tools', results });
    }
  } finally {
    clockwork.stop();
  }
}

export function notRun(call: Pick<ToolCall, 'id' | 'name'>, text: string): ToolResult {
  return { callId: call.id, name: call.name, text, isError: true };
}

async function askPatiently(
  deps: LoopDeps,
  turn: Turn,
  messages: readonly Message[],
  signal: AbortSignal,
  hooks: TurnHooks,
): Promise<Answer> {
  for (let tried = 0; ; tried += 1) {
    try {
      const answer = await deps.port.ask({
        model: turn.model,
        system: turn.system,
        messages,
        tools: turn.tools,
        maxOutputTokens: turn.maxOutputTokens,
        signal,
        onStart: hooks.started,
      });
      if (tried > 0) hooks.waiting(null);
      return answer;
    } catch (error) {
      const pause = pausesMs[tried];
      if (!(error instanceof ModelFault) || pause === undefined || !passing.includes(error.kind)) throw error;
      hooks.waiting(`${error.message} Try ${tried + 2} of ${pausesMs.length + 1} follows.`);
      await sleep(deps.timers, pause * (1 + deps.random() / 2), signal);
    }
  }
}

function sleep(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = timers.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}

function timeLimit(deps: LoopDeps, turn: Turn, activeMs: () => number): { signal: AbortSignal; stop(): void } {
  const over = new AbortController();
  let cancel = () => {};
  const look = () => {
    const left = turn.limits.minutes * 60_000 - activeMs();
    if (left <= 0) over.abort();
    else cancel = deps.timers.after(left + 1, look);
  };
  look();
  return { signal: over.signal, stop: () => cancel() };
}
