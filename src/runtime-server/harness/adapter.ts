/**
 * The interface of an adapter (a harness's folder): what it implements and what it receives. Every folder has the same parts: `program.ts` and `rules.ts`
 * (data), `adapter.ts` (launch and driver). Must not know teams, queues or the ledger.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { PaneEngine, PaneFacts, PaneOsc } from '../panes/pane-engine.ts';
import type { Environment } from './environment.ts';
import type {
  BotPaths,
  BotSpec,
  BotState,
  DeliverResult,
  ExecOptions,
  ExecResult,
  Gate,
  Launch,
  Outgoing,
  PermissionApprovals,
  PermissionPolicy,
} from './harness.ts';
import type { Judge } from './judge/judge.ts';
import type { Ruleset } from './judge/rules.ts';
import type { UsageAsk, UsageLimit, UsagePage } from './usage.ts';

/** The part of the pane engine that harnesses use. */
export type HarnessPanes = Pick<PaneEngine, 'engine' | 'get' | 'write' | 'read' | 'kill' | 'listen'>;

export interface Ran {
  /** null after a signal or a deadline. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** True when `signal` ended it. */
  readonly stopped?: boolean;
}

/** Runs a program to its end without a terminal; a deadline ends its whole group. Rejects when it cannot be started. */
export interface ProcessRunner {
  run(
    command: readonly [string, ...string[]],
    options: {
      readonly cwd?: string;
      readonly env: Readonly<Record<string, string>>;
      /** null closes stdin at once. */
      readonly input: string | null;
      readonly timeoutMs: number;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<Ran>;
}

/** The outside world, as far as adapters read it. */
export interface Surroundings {
  readonly env: Environment;
  readonly home: string;
  readonly processes: ProcessRunner;
}

/** Runs one task after the other; a failed task does not stop the next. */
interface Mutex {
  run<T>(task: () => Promise<T>): Promise<T>;
}

export interface DriverContext {
  readonly bot: BotSpec;
  readonly paneId: string;
  readonly panes: HarnessPanes;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly judge: Judge;
  readonly home: string;
  readonly approvals: PermissionApprovals;
  readonly policy: PermissionPolicy;
  /** Held from the first byte to the submitting key, so that no person's key falls between; also by a person's input. */
  readonly typing: Mutex;
  gate(): Gate;
  facts(): PaneFacts | null;
  recall(): Readonly<Record<string, unknown>>;
  remember(facts: Readonly<Record<string, unknown>>): void;
  /** The driver fed the judge or learnt something: state, gate and waiting conditions are checked again. */
  poke(): void;
  /** Resolves true as soon as `condition` holds (looked at on every poke, facts and event), false after `ms`. */
  until(condition: () => boolean, ms: number): Promise<boolean>;
}

/** One live bot of one harness. */
export interface Driver {
  /** Why a text cannot be typed although the state is idle: `draft`, a closed composer. null: no obstacle. */
  obstacle(): string | null;
  /** Why its program cannot be reached, whatever its screen shows; null: it can. Absent: the terminal is the only way to it. */
  away?(): string | null;
  deliver(message: Outgoing): Promise<DeliverResult>;
  /** For a harness whose program reports how far a message came: see `HarnessBot.resume`. */
  resume?(message: Outgoing): Promise<DeliverResult | null>;
  onFacts?(facts: PaneFacts): void;
  onOsc?(osc: PaneOsc): void;
  onHook?(
    event: string,
    payload: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>>;
  /** A person's keys are about to be written. */
  onInput?(): void;
  /** Ends the turn without a key; null where that is impossible now. Absent: keys end it (`Ruleset.interrupt`). */
  abort?(): (() => Promise<void>) | null;
  /** The judged state or its reason changed. */
  onState?(state: BotState): void;
  /** The program has ended. */
  onExit?(): void;
  /** Gantry releases the bot; its program may live on. */
  close?(): void;
  /** Approvals that wait for an answer to the program's own questions. */
  approvals?(): readonly string[];
  /** The pane engine became readable or unreadable. */
  onEngine?(): void;
  /**
   * Asked while the state is `blocked`: when the limit ends, for harnesses that report it outside the state's reason (`reset-time.ts` reads the
   * reason). null: unknown.
   */
  limit?(): UsageLimit | null;
}

/**
 * How one agent program is started, read and written to.
 *
 * @example
 * ```ts
 * import type { Adapter, Surroundings } from './adapter.ts';
 * import { botEnvironment } from './environment.ts';
 * import { composePrompt } from './wording.ts';
 *
 * // A program that shows `> ` when it can take a line, and reports nothing about what it read.
 * export function createLineAdapter({ env }: Surroundings): Adapter {
 *   return {
 *     ruleset: {
 *       harness: 'line',
 *       version: 'line/1',
 *       covers: null,
 *       authority: 'screen',
 *       unclearAfterMs: 5_000,
 *       interrupt: { keys: ['C-c'] },
 *       screen: [
 *         {
 *           id: 'line.prompt',
 *           source: 'screen',
 *           priority: 1,
 *           when: [{ region: 'bottom', rows: 1, regex: '^> *$' }],
 *           claim: { state: 'idle' },
 *           holdMs: 100,
 *         },
 *       ],
 *       events: [],
 *     },
 *     async prepare(bot, paths) {
 *       const launchEnv = botEnvironment(env, bot, paths);
 *       return { launch: { command: ['line'], cwd: bot.cwd, env: launchEnv, cols: 120, rows: 40 }, facts: {} };
 *     },
 *     drive: (context) => ({
 *       obstacle: () => null,
 *       deliver: (message) =>
 *         context.typing.run(async () => {
 *           const gate = context.gate();
 *           if (!gate.open) return { state: 'held', why: gate.why };
 *           await context.panes.write(context.paneId, `${composePrompt(message)}\r`);
 *           return { state: 'best_effort', evidence: null, detail: 'the program reports nothing back' };
 *         }),
 *     }),
 *   };
 * }
 * ```
 */
export interface Adapter {
  readonly ruleset: Ruleset;
  /** `memory`: facts of the bot's last start. `facts` are kept for the driver of this one. */
  prepare(
    bot: BotSpec,
    paths: BotPaths,
    memory: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly launch: Launch; readonly facts: Readonly<Record<string, unknown>> }>;
  exec?(bot: BotSpec, paths: BotPaths, text: string, options: ExecOptions): Promise<ExecResult>;
  drive(context: DriverContext): Driver;
  /** Continues to read the transcripts that the harness keeps itself. The bot need not be live. Reads only. */
  usage?(ask: UsageAsk): Promise<UsagePage>;
}

export function createMutex(): Mutex {
  let tail: Promise<unknown> = Promise.resolve();
  return {
    run(task) {
      const turn = tail.then(task);
      tail = turn.catch(() => undefined);
      return turn;
    },
  };
}
