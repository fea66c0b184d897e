/**
 * What a harness reports about its own usage: tokens and cost from its transcript, and that a limit of its provider stops it. Shapes only; must not
 * know prices, budgets or queues.
 */

/** One answer of a model, as the harness's transcript counts it. Tokens; `input` excludes cached ones. */
export interface UsageLine {
  /**
   * Names this answer in every transcript that holds it: resumed and forked conversations copy it, and it is counted once. Without the harness's
   * name, which is prepended later.
   */
  readonly id: string;
  /** When it was given, milliseconds since the epoch. */
  readonly at: number;
  readonly model: string;
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
  /** As the harness reports it, fractions kept; null where it does not: then the price list decides. */
  readonly cents: number | null;
}

/** Where reading continues: JSON that only the adapter reads. */
export type UsageCursor = Readonly<Record<string, unknown>>;

export interface UsagePage {
  /** Oldest first. A line may come again: it is known by its id. */
  readonly lines: readonly UsageLine[];
  readonly cursor: UsageCursor;
  /** There is more to read at once. */
  readonly more: boolean;
}

export interface UsageAsk {
  /** The bot's remembered facts: session id, transcript path. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** null: from the beginning. */
  readonly cursor: UsageCursor | null;
  /** No turn is under way: the last answer in the transcript is whole. */
  readonly settled: boolean;
}

/** Its provider stops it for now. */
export interface UsageLimit {
  /** In the harness's own words. */
  readonly reason: string;
  /** When it ends, milliseconds since the epoch; null where the harness does not say, or not in a known form. */
  readonly until: number | null;
}
