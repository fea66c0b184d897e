/**
 * One live bot, as far as it is the same for every harness. Feeds the judge, keeps the gate, serialises typing, waits for conditions. Must not know
 * how a harness takes a text (drivers do) nor teams, queues and the ledger (the factory does).
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { PaneInput } from '../../contracts/factory/agent.ts';
import type { Base } from '../base/base.ts';
import type { PaneFacts, PaneInfo, PaneOsc } from '../panes/pane-engine.ts';
import { createActivity } from './activity.ts';
import { type Adapter, createMutex, type Driver, type DriverContext, type HarnessPanes } from './adapter.ts';
import type {
  BotMemory,
  BotSpec,
  BotState,
  Gate,
  HarnessBot,
  PermissionApprovals,
  PermissionPolicy,
} from './harness.ts';
import { interruptTurn, isTurn } from './interrupt.ts';
import type { Claim, Evidence } from './judge/evidence.ts';
import { createJudge, type Judge } from './judge/judge.ts';
import type { Matcher } from './judge/rules.ts';
import { keyBytes } from './keys.ts';
import { transcriptOf } from './prompt-witness.ts';
import { createReadiness } from './readiness.ts';
import { resetTime } from './reset-time.ts';
import type { UsageLimit } from './usage.ts';

/** A bot, and the side on which the panes' reports come in. */
export interface LiveBot extends HarnessBot {
  takeFacts(facts: PaneFacts): void;
  takeOsc(osc: PaneOsc): void;
  takeExit(info: PaneInfo): void;
  takeEngine(): void;
}

export function createBot(
  options: Pick<Base, 'clock' | 'timers'> & {
    readonly adapter: Adapter;
    readonly matcher: Matcher;
    readonly bot: BotSpec;
    readonly paneId: string;
    readonly panes: HarnessPanes;
    readonly memory: BotMemory;
    readonly approvals: PermissionApprovals;
    readonly policy: PermissionPolicy;
    readonly home: string;
    readonly onClose: () => void;
  },
): LiveBot {
  const { adapter, bot, paneId, panes, clock, timers, memory } = options;
  const remembered = recall();
  const samePane = remembered.paneId === paneId;
  const judge = createJudge({
    ruleset: adapter.ruleset,
    matcher: options.matcher,
    clock,
    heard: samePane && remembered.heard === true,
    ...(samePane && isState(remembered.last) && { from: clearAgain(remembered.last) }),
  });
  const activity = createActivity(clock);
  const conditions = createConditions(timers);
  const typing = createMutex();
  const delivering = createMutex();
  let closed = false;
  let facts: PaneFacts | null = panes.get(paneId)?.facts ?? null;
  let judgedLast = judge.state();
  const listeners = createListeners(judgedLast);
  let cancelTimer: (() => void) | null = null;
  const readiness = createReadiness({
    clock,
    judge,
    unreachable() {
      if (closed || !live()) return 'no live pane';
      return panes.engine().running ? null : 'the panes cannot be read';
    },
  });

  function recall(): Readonly<Record<string, unknown>> {
    return memory.recall(bot.agentId) ?? {};
  }

  function remember(extra: Readonly<Record<string, unknown>>): void {
    memory.remember(bot.agentId, { ...recall(), ...extra, paneId });
  }

  function live(): boolean {
    return panes.get(paneId)?.alive === true;
  }

  function gate(): Gate {
    return readiness.gate(driver);
  }

  function state(): BotState {
    return readiness.state(driver);
  }

  /** After anything that may have changed: tells listeners, checks waiting conditions, sets the one timer. */
  function poke(): void {
    if (closed) return;
    judge.tick();
    const judged = judge.state();
    if (judged.state !== judgedLast.state || judged.reason !== judgedLast.reason) {
      judgedLast = judged;
      remember({ last: judged });
      driver.onState?.(judged);
    }
    readiness.check(driver);
    listeners.tellState(state());
    conditions.look();
    listeners.tellGate(gate().open);
    arm();
  }

  function arm(): void {
    cancelTimer?.();
    const waits = [judge.next(), ...readiness.waits()].filter((wait) => wait !== null);
    // One millisecond more than asked: a timer that fires early would only be armed again.
    cancelTimer = waits.length === 0 ? null : timers.after(Math.min(...waits) + 1, poke);
  }

  const context: DriverContext = {
    bot,
    paneId,
    panes,
    clock,
    timers,
    judge,
    home: options.home,
    approvals: options.approvals,
    policy: options.policy,
    typing,
    gate,
    facts: () => facts,
    recall,
    remember,
    poke,
    until: conditions.until,
  };
  const driver = adapter.drive(context);
  const keyboard = createKeyboard({ panes, paneId, typing, driver, timers, facts: () => facts });

  function takeFacts(next: PaneFacts): void {
    facts = next;
    activity.screen(next.bottom);
    judge.look(next);
    driver.onFacts?.(next);
    poke();
  }

  function takeExit(info: PaneInfo): void {
    judge.take({ source: 'process', rule: 'process.exit', claim: exitClaim(info), seen: exitWords(info) });
    driver.onExit?.();
    poke();
  }

  if (!samePane) remember({ last: judge.state() });
  const info = panes.get(paneId);
  if (info && !info.alive) takeExit(info);
  else if (facts) takeFacts(facts);

  return {
    agentId: bot.agentId,
    paneId,
    state,
    activity,
    transcripts: () => transcriptOf(recall()),
    onState: listeners.onState,
    gate,
    onGate: listeners.onGate,
    deliver: (message) =>
      delivering.run(async () => {
        const now = gate();
        return now.open ? driver.deliver(message) : { state: 'held', why: now.why };
      }),
    resume: (message) => delivering.run(async () => (await driver.resume?.(message)) ?? null),
    async input(input) {
      const { text = '', keys = [] } = input;
      if (text === '' && keys.length === 0) {
        throw new AppError('usage', 'Neither text nor keys were given.', 'Give text, keys or both.');
      }
      if (!live())
        throw new AppError('not_found', `${bot.slug}@${bot.team} has no live pane.`, 'Start its team first.');
      readiness.typed(await keyboard.type(input));
      activity.note('typing');
      poke();
    },
    async hook(event, payload, signal = new AbortController().signal) {
      if (event === 'PermissionRequest') activity.called(String(payload.tool_name), payload.tool_input);
      else activity.note('hook');
      if (judge.heard()) {
        remember({ heard: true });
        if (facts !== null) judge.look(facts);
      }
      const answer = (await driver.onHook?.(event, payload, signal)) ?? {};
      poke();
      return answer;
    },
    interruptKeys: () => (driver.abort?.() ? [] : adapter.ruleset.interrupt.keys),
    async interrupt() {
      if (!isTurn(judge.state().state)) return { ended: false, keys: [] };
      const abort = driver.abort?.() ?? null;
      const { keys, apartMs = 0 } = adapter.ruleset.interrupt;
      // The turn may end between two keys: the next one would be one too many.
      const press = () => keyboard.press(keys, apartMs, () => isTurn(judge.state().state));
      const ended = await interruptTurn(listeners.onState, state, timers, abort ?? press);
      return { ended, keys: abort === null ? keys : [] };
    },
    explain: () => ({
      harness: adapter.ruleset.harness,
      ruleset: adapter.ruleset.version,
      steps: judge.steps(),
      bottom: facts?.bottom ?? [],
      approvals: driver.approvals?.() ?? [],
    }),
    limit: () => limitOf(judge, driver),
    unblock() {
      judge.take(limitOver);
      poke();
    },
    close() {
      closed = true;
      cancelTimer?.();
      driver.close?.();
      listeners.clear();
      options.onClose();
    },
    takeFacts,
    takeOsc(osc) {
      driver.onOsc?.(osc);
      poke();
    },
    takeExit,
    takeEngine() {
      driver.onEngine?.();
      poke();
    },
  };
}

/** Whoever wants to hear of the state that people see and of the gate that opens. Told again only when it changed. */
function createListeners(first: BotState) {
  const ofState = new Set<(state: BotState) => void>();
  const ofGate = new Set<() => void>();
  let told = first;
  let wasOpen = false;
  return {
    onState(listener: (state: BotState) => void): () => void {
      ofState.add(listener);
      return () => ofState.delete(listener);
    },
    onGate(listener: () => void): () => void {
      ofGate.add(listener);
      return () => ofGate.delete(listener);
    },
    tellState(now: BotState): void {
      if (now.state === told.state && now.reason === told.reason) return;
      told = now;
      for (const listener of ofState) listener(now);
    },
    tellGate(open: boolean): void {
      if (open && !wasOpen) for (const listener of ofGate) listener();
      wasOpen = open;
    },
    clear(): void {
      ofState.clear();
      ofGate.clear();
    },
  };
}

/** Whoever waits until something holds, asked again whenever anything may have changed. */
function createConditions(timers: Base['timers']): Pick<DriverContext, 'until'> & { readonly look: () => void } {
  const waiting = new Set<() => void>();
  return {
    look() {
      for (const look of waiting) look();
    },
    until(condition, ms) {
      if (condition()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = (met: boolean) => {
          waiting.delete(look);
          cancel();
          resolve(met);
        };
        const look = () => {
          if (condition()) end(true);
        };
        const cancel = timers.after(ms, () => end(condition()));
        waiting.add(look);
      });
    },
  };
}

/** Writes into the pane what a person types and the keys that end a turn. The driver hears of each, and nothing else is typed in between. */
function createKeyboard({
  panes,
  paneId,
  typing,
  driver,
  timers,
  facts,
}: Pick<DriverContext, 'panes' | 'paneId' | 'typing' | 'timers' | 'facts'> & {
  readonly driver: Pick<Driver, 'onInput'>;
}) {
  const bytesOf = (key: string) => keyBytes(key, facts()?.applicationCursor);

  function write(bytes: string): Promise<void> {
    driver.onInput?.();
    return panes.write(paneId, bytes);
  }

  return {
    /** Text first, then keys. Returns the bytes. */
    async type({ text = '', keys = [], paste = false }: PaneInput): Promise<string> {
      const typed = paste && text !== '' ? pasteBytes(text, facts()?.bracketedPaste === true) : text;
      const bytes = typed + keys.map(bytesOf).join('');
      await typing.run(() => write(bytes));
      return bytes;
    },
    /** One key after the other, as long as `still`. */
    press: (keys: readonly string[], apartMs: number, still: () => boolean): Promise<void> =>
      typing.run(async () => {
        for (const [at, key] of keys.entries()) {
          if (at > 0) await new Promise<void>((resolve) => timers.after(apartMs, resolve));
          if (!still()) return;
          await write(bytesOf(key));
        }
      }),
  };
}

/** The limit has ended, or a person lets the bot try again. */
const limitOver: Evidence = {
  source: 'person',
  rule: 'limit.over',
  claim: { state: 'idle' },
  seen: 'it may try',
  from: ['blocked'],
};

/** Null: it is stopped by none, or its current screen is unclear, whose words are not those of the limit. */
function limitOf(judge: Judge, driver: Driver): UsageLimit | null {
  const { state, reason, since } = judge.state();
  if (state !== 'blocked' || judge.unclear()) return null;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return driver.limit?.() ?? { reason: reason ?? 'it cannot continue', until: resetTime(reason ?? '', since, zone) };
}

/** Removes escape characters from a paste, also the C1 form with a bracket: they could end the frame and have the rest taken as typed. */
function pasteBytes(text: string, framed: boolean): string {
  const plain = text.replace(/[\x1b\x9b]/g, '');
  return framed ? `\x1b[200~${plain}\x1b[201~` : plain;
}

function exitClaim(info: PaneInfo): Claim {
  // The program did not end itself: it was stopped, or its pane host ended.
  if (info.endReason !== null) return { state: 'offline', reason: info.endReason };
  if (info.exitCode === 0) return { state: 'offline' };
  if (info.exitCode === null && info.exitSignal === null) {
    return { state: 'offline', reason: 'it ended; its exit code is unknown' };
  }
  return { state: 'failed', reason: exitWords(info) };
}

function exitWords(info: PaneInfo): string {
  if (info.endReason !== null) return info.endReason;
  if (info.exitSignal !== null) return `it was ended by ${info.exitSignal}`;
  return info.exitCode === null ? 'it ended' : `it ended with exit code ${info.exitCode}`;
}

/** `unclear` belonged to the earlier screen; the judge reads the current one again. */
function clearAgain(state: BotState): BotState {
  return state.reason === 'unclear' ? { ...state, reason: null } : state;
}

function isState(value: unknown): value is BotState {
  return typeof value === 'object' && value !== null && 'state' in value && 'since' in value && 'reason' in value;
}
