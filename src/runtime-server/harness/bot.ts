/**
 * One live bot, as far as it is the same for every harness. Feeds the judge, keeps the gate, serialises typing, waits for conditions. Must not know
 * how a harness takes a text (drivers do) nor teams, queues and the ledger (the factory does).
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { Base } from '../base/base.ts';
import type { PaneFacts, PaneInfo, PaneOsc } from '../panes/pane-engine.ts';
import { createActivity } from './activity.ts';
import { type Adapter, createMutex, type DriverContext, type HarnessPanes } from './adapter.ts';
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
import type { Claim } from './judge/evidence.ts';
import { createJudge } from './judge/judge.ts';
import type { Matcher } from './judge/rules.ts';
import { keyBytes } from './keys.ts';
import { transcriptOf } from './prompt-witness.ts';
import { resetTime } from './reset-time.ts';
import { obstacleInWords } from './wording.ts';

/** After a person's key nothing is typed for this long: they are likely to press another. */
const personGraceMs = 1500;
/** After a person's Enter, waiting for the screen to follow is enough. */
const personEnterGraceMs = 300;
/** A bot that cannot take a message for this long needs a person: such an obstacle does not go away without one. */
const cannotTakeMs = 60_000;
/** A person's input is recorded once a burst, or it would push all other evidence out of `explain`. */
const personBurstMs = 5000;

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
  const judge = createJudge({
    ruleset: adapter.ruleset,
    matcher: options.matcher,
    clock,
    ...(remembered.paneId === paneId && isState(remembered.last) && { from: clearAgain(remembered.last) }),
  });
  const activity = createActivity(clock);
  const stateListeners = new Set<(state: BotState) => void>();
  const gateListeners = new Set<() => void>();
  const waiting = new Set<() => void>();
  const typing = createMutex();
  const delivering = createMutex();
  let closed = false;
  let facts: PaneFacts | null = panes.get(paneId)?.facts ?? null;
  /** Why a bot outside a turn cannot take a message, and since when. */
  let shut: { readonly why: string; readonly since: number } | null = null;
  let judgedLast = judge.state();
  let told = judgedLast;
  let wasOpen = false;
  let cancelTimer: (() => void) | null = null;
  let person = { at: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };

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
    const closedBecause = (why: string, setup = false): Gate => ({ open: false, why, setup });
    if (closed || !live()) return closedBecause('no live pane');
    if (!panes.engine().running) return closedBecause('the pane engine cannot be read');
    const { state, reason } = judge.state();
    if (judge.unclear()) return closedBecause('unclear');
    if (state !== 'idle' && state !== 'done') {
      return closedBecause(reason ? `${state}: ${reason}` : state, judge.setup());
    }
    if (clock.monotonic() < person.until) return closedBecause('a person is typing');
    const obstacle = driver.obstacle();
    return obstacle === null ? { open: true } : closedBecause(obstacle);
  }

  /** Why it can take no message although it is in no turn and asks nothing; null: nothing prevents it, or a turn runs. */
  function hindrance(): string | null {
    if (closed || !live() || !panes.engine().running) return null;
    const { state } = judge.state();
    if (state === 'starting') return 'it has not become ready since its start';
    if (judge.unclear())
      return state === 'needs_you' || state === 'blocked' ? null : 'Gantry does not recognize its screen';
    if (state !== 'idle' && state !== 'done') return null;
    const obstacle = driver.obstacle();
    return obstacle === null ? null : obstacleInWords(obstacle);
  }

  /** The state that people see. */
  function state(): BotState {
    const judged = judge.state();
    if (shut === null) return judged;
    const lasted = Math.round(clock.monotonic() - shut.since);
    if (lasted >= cannotTakeMs) {
      const since = clock.now() - lasted + cannotTakeMs;
      return { state: 'needs_you', reason: `cannot take messages: ${shut.why}`, since };
    }
    // An idle bot can take a message; one that cannot be reached is not there yet, or has gone.
    const away = driver.away?.() ?? null;
    if (away === null || judged.state === 'starting') return judged;
    return { state: 'starting', reason: away, since: clock.now() - lasted };
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
    const why = hindrance();
    if (why === null) shut = null;
    else shut = { why, since: shut?.since ?? clock.monotonic() };
    const now = state();
    if (now.state !== told.state || now.reason !== told.reason) {
      told = now;
      for (const listener of stateListeners) listener(now);
    }
    for (const look of waiting) look();
    const open = gate().open;
    if (open && !wasOpen) for (const listener of gateListeners) listener();
    wasOpen = open;
    arm();
  }

  function arm(): void {
    cancelTimer?.();
    const grace = person.until - clock.monotonic();
    const patience = shut === null ? 0 : shut.since + cannotTakeMs - clock.monotonic();
    const waits = [judge.next(), grace > 0 ? grace : null, patience > 0 ? patience : null].filter(
      (wait) => wait !== null,
    );
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
  const driver = adapter.drive(context);

  function onState(listener: (state: BotState) => void): () => void {
    stateListeners.add(listener);
    return () => stateListeners.delete(listener);
  }

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

  if (remembered.paneId !== paneId) remember({ last: judge.state() });
  const info = panes.get(paneId);
  if (info && !info.alive) takeExit(info);
  else if (facts) takeFacts(facts);

  return {
    agentId: bot.agentId,
    paneId,
    state,
    activity,
    transcripts: () => transcriptOf(recall()),
    onState,
    gate,
    onGate(listener) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
    deliver: (message) =>
      delivering.run(async () => {
        const now = gate();
        return now.open ? driver.deliver(message) : { state: 'held', why: now.why };
      }),
    resume: (message) => delivering.run(async () => (await driver.resume?.(message)) ?? null),
    async input({ text = '', keys = [], paste = false }) {
      if (text === '' && keys.length === 0) {
        throw new AppError('usage', 'Neither text nor keys were given.', 'Give text, keys or both.');
      }
      if (!live())
        throw new AppError('not_found', `${bot.slug}@${bot.team} has no live pane.`, 'Start its team first.');
      const typed = paste && text !== '' ? pasteBytes(text, facts?.bracketedPaste === true) : text;
      const bytes = typed + keys.map((key) => keyBytes(key, facts?.applicationCursor)).join('');
      await typing.run(() => {
        driver.onInput?.();
        return panes.write(paneId, bytes);
      });
      // A person is typing.
      shut = null;
      activity.note();
      const now = clock.monotonic();
      if (now - person.at > personBurstMs) {
        judge.take({ source: 'person', rule: 'person.input', claim: null, seen: 'a person typed' });
      }
      person = { at: now, until: now + (/[\r\n]$/.test(bytes) ? personEnterGraceMs : personGraceMs) };
      poke();
    },
    async hook(event, payload, signal = new AbortController().signal) {
      if (event === 'PermissionRequest') activity.called(String(payload.tool_name), payload.tool_input);
      else activity.note();
      const answer = (await driver.onHook?.(event, payload, signal)) ?? {};
      poke();
      return answer;
    },
    interruptKeys: () => (driver.abort?.() ? [] : adapter.ruleset.interrupt.keys),
    async interrupt() {
      if (!isTurn(judge.state().state)) return { ended: false, keys: [] };
      const abort = driver.abort?.() ?? null;
      if (abort) {
        const ended = interruptTurn(onState, state, timers, abort);
        return { ended: await ended, keys: [] };
      }
      const { keys, apartMs = 0 } = adapter.ruleset.interrupt;
      const press = () =>
        typing.run(async () => {
          for (const [at, key] of keys.entries()) {
            if (at > 0) await new Promise<void>((resolve) => timers.after(apartMs, resolve));
            // The turn may have ended in between: the next key would be one too many.
            if (!isTurn(judge.state().state)) return;
            driver.onInput?.();
            await panes.write(paneId, keyBytes(key, facts?.applicationCursor));
          }
        });
      return { ended: await interruptTurn(onState, state, timers, press), keys };
    },
    explain: () => ({
      harness: adapter.ruleset.harness,
      ruleset: adapter.ruleset.version,
      steps: judge.steps(),
      bottom: facts?.bottom ?? [],
      approvals: driver.approvals?.() ?? [],
    }),
    limit() {
      const { state, reason, since } = judge.state();
      // The current screen is unclear, so its words are not those of the limit.
      if (state !== 'blocked' || judge.unclear()) return null;
      const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
      return (
        driver.limit?.() ?? { reason: reason ?? 'it cannot continue', until: resetTime(reason ?? '', since, zone) }
      );
    },
    unblock() {
      judge.take({
        source: 'person',
        rule: 'limit.over',
        claim: { state: 'idle' },
        seen: 'it may try',
        from: ['blocked'],
      });
      poke();
    },
    close() {
      closed = true;
      cancelTimer?.();
      driver.close?.();
      stateListeners.clear();
      gateListeners.clear();
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
