/**
 * One turn: the model is asked, its calls are carried out, it is asked again, until it has nothing more to do or a limit is reached. Each step is
 * stored before anything acts on it, so records describe even a turn that is cut off. Must not know bots, stores, tools or vendors.
 */

import type { Toolset } from '../../contracts/computer-use/members.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Base } from '../base/base.ts';
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

/** Usage before this part: a turn that continues after a pause does not get new limits. */
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
  /** Which limit: one of {@link TurnLimits}, or the longest answer. */
  readonly limit: keyof TurnLimits | 'answer' | null;
  readonly used: Used;
}

export interface TurnHooks {
  /** Before each step, after the limits. False: the caller allows no further step, and the turn ends. */
  readonly step?: () => Promise<boolean>;
  /** The model has accepted a request; called for each. */
  started(): void;
  /** Stored before its calls are carried out. Returns the cost of the step, millionths of a dollar; null: unknown. */
  answered(message: Extract<Message, { role: 'assistant' }>, usage: Usage): Promise<number | null>;
  /** Carries a call out. Never rejects when the tool refuses. */
  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
  /** To be kept before the next call. */
  result(result: ToolResult): Promise<void>;
  /** An answer had no whole call and was cut off or empty: the text that asks the model to continue; null: the turn ends. Absent: it ends. */
  readonly noCalls?: (why: 'cut' | 'empty') => string | null;
  /** Waits for another try, or continues (null). */
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
  /** Offered in the vendor's own form, beside `tools`. */
  readonly toolsets?: readonly Toolset[];
  /** How long a service that takes no more requests for now is waited for, milliseconds; absent: the turn ends with that fault. */
  readonly limitPatienceMs?: number;
  /** How many pictures of results the model is still shown, the last ones; absent: all. */
  readonly keepPictures?: number;
  readonly maxOutputTokens: number;
  readonly limits: TurnLimits;
  readonly used: Used;
  readonly signal: AbortSignal;
}

export interface LoopDeps extends Pick<Base, 'clock' | 'timers'> {
  readonly port: ModelPort;
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
  const end = (
    how: TurnEnd['how'],
    reason: string | null,
    more: Partial<Pick<TurnEnd, 'fault' | 'limit'>> = {},
  ): TurnEnd => ({ how, text, reason, fault: null, limit: null, ...more, used: used() });
  // The time limit also ends a step that hangs; time in which a person is waited for does not count.
  const clockwork = timeLimit(deps, turn, () => used().activeMs);
  const signal = AbortSignal.any([turn.signal, clockwork.signal]);

  const overLimit = (): { limit: keyof TurnLimits; words: string } | null => {
    const { limits } = turn;
    if (clockwork.signal.aborted) return { limit: 'minutes', words: `${limits.minutes} minutes` };
    if (steps >= limits.steps) return { limit: 'steps', words: `${limits.steps} steps` };
    if (tokens >= limits.tokens) return { limit: 'tokens', words: `${limits.tokens} tokens` };
    if (limits.usd !== null && microUsd >= limits.usd * 1e6) return { limit: 'usd', words: `${limits.usd} dollars` };
    return null;
  };

  try {
    for (;;) {
      if (turn.signal.aborted) return end('stopped', 'It was stopped.');
      const over = overLimit();
      if (over !== null) return end('limit', `It reached its limit of ${over.words}.`, { limit: over.limit });
      if (hooks.step !== undefined && !(await hooks.step())) {
        return turn.signal.aborted ? end('stopped', 'It was stopped.') : end('limit', 'No further step is allowed.');
      }
      let answer: Answer;
      try {
        answer = await askPatiently(deps, turn, messages, signal, hooks);
      } catch (error) {
        if (!(error instanceof ModelFault)) throw error;
        if (error.kind !== 'stopped') return end('fault', error.message, { fault: error });
        if (turn.signal.aborted) return end('stopped', 'It was stopped.');
        return end('limit', `It reached its limit of ${turn.limits.minutes} minutes.`, { limit: 'minutes' });
      }
      steps += 1;
      const usage = answer.usage ?? noUsage;
      tokens += usage.input + usage.cachedInput + usage.cacheWrite + usage.output;
      // Calls of a cut or refused answer may be incomplete: they are left out.
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
      if (answer.stop === 'refusal') return end('refused', 'The model declined to continue.');
      if (calls.length === 0) {
        const cut = answer.stop === 'length';
        const goOn = cut || answer.text.trim() === '' ? (hooks.noCalls?.(cut ? 'cut' : 'empty') ?? null) : null;
        if (goOn !== null) messages.push({ role: 'user', text: goOn });
        else if (cut) {
          return end('limit', 'The model’s answer was cut off at its maximum length.', { limit: 'answer' });
        } else return end('done', null);
        continue;
      }
      const results: ToolResult[] = [];
      for (const call of calls) {
        const stopped = signal.aborted;
        const result = stopped ? notRun(call, 'Stopped before this ran.') : await hooks.call(call, signal);
        await hooks.result(result);
        results.push(result);
      }
      messages.push({ role: 'tools', results });
    }
  } finally {
    clockwork.stop();
  }
}

function notRun(call: Pick<ToolCall, 'id' | 'name'>, text: string): ToolResult {
  return { callId: call.id, name: call.name, text, isError: true };
}

/** Old pictures cost as much as new ones in every request, and are outdated. */
function withLastPictures(messages: readonly Message[], keep: number): readonly Message[] {
  let left = keep;
  return messages
    .toReversed()
    .map((message): Message => {
      if (message.role !== 'tools') return message;
      const results = message.results.toReversed().map((result) => {
        const count = result.pictures?.length ?? 0;
        if (count === 0) return result;
        left -= count;
        if (left >= 0) return result;
        const { pictures: _, ...rest } = result;
        return { ...rest, text: [result.text, '(An older image was left out here.)'].filter(Boolean).join('\n') };
      });
      return { role: 'tools', results: results.toReversed() };
    })
    .toReversed();
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
        messages: turn.keepPictures === undefined ? messages : withLastPictures(messages, turn.keepPictures),
        tools: turn.tools,
        ...(turn.toolsets !== undefined && { toolsets: turn.toolsets }),
        maxOutputTokens: turn.maxOutputTokens,
        signal,
        onStart: hooks.started,
      });
      if (tried > 0) hooks.waiting(null);
      return answer;
    } catch (error) {
      const pause = error instanceof ModelFault ? pauseAfter(deps, turn, error, tried) : null;
      if (pause === null) throw error;
      hooks.waiting(`${(error as ModelFault).message} Trying again (${tried + 2} of ${pausesMs.length + 1}).`);
      await sleep(deps.timers, pause, signal);
    }
  }
}

/** Milliseconds; null: not tried again. */
function pauseAfter(deps: LoopDeps, turn: Turn, fault: ModelFault, tried: number): number | null {
  const defaultPauseMs = pausesMs[tried];
  if (defaultPauseMs === undefined) return null;
  const pause = defaultPauseMs * (1 + deps.random() / 2);
  if (passing.includes(fault.kind)) return pause;
  if (fault.kind !== 'limit' || turn.limitPatienceMs === undefined) return null;
  const said = fault.retryAt === null ? pause : Math.max(0, fault.retryAt - deps.clock.now());
  return said <= turn.limitPatienceMs ? said : null;
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
