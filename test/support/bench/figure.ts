/**
 * What a figure is: one name, one bound, one line of output. A module in `test/bench/<area>/` or `test/faults/<area>/`
 * exports `figures: Figure[]`; the runner finds it, adds the bound and prints the line.
 */

export interface FigureOptions {
  /** Smaller n, the same code. */
  readonly quick: boolean;
  /** Progress for a person, to stderr. */
  readonly log: (text: string) => void;
}

/** What a figure found. The runner adds `figure`, `bound` and `ok`. */
export interface Measured {
  /** In `unit`; null when it could not be measured, then `why` says so and the line is `ok: null`. */
  readonly value: number | null;
  readonly unit: string;
  /** Number of rounds, samples or kills behind `value`. */
  readonly n: number;
  /** Where it was measured, under what load. */
  readonly at: string;
  /** The other program with its version, and its number in the unit that `own` has. */
  readonly peer?: { readonly name: string; readonly value: number };
  /** Our number, where `value` is a ratio. */
  readonly own?: number;
  readonly why?: string;
  /** Of a fault: what counts against it, one sentence each; the line tells the first {@link maxProblems}. */
  readonly problems?: readonly string[];
  /** Further numbers that explain the value: quantiles, parts. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface Figure {
  /** `<area>.<what>`; its bound is under this name in `test/bench/bounds.json`. */
  readonly name: string;
  run(options: FigureOptions): Promise<Measured>;
}

export interface FigureLine extends Measured {
  readonly figure: string;
  readonly bound: string;
  readonly ok: boolean | null;
}

/** A module with figures. */
export interface FigureModule {
  readonly figures: readonly Figure[];
}

export interface Bound {
  readonly operator: '>=' | '<=' | '==';
  readonly limit: number;
}

/** Problems in one line: a fault that breaks everything would fill a log. */
const maxProblems = 20;

/** Reads `>= 1.6`, `<= 2` or `== 0`. */
export function parseBound(text: string): Bound {
  const match = /^(>=|<=|==) (-?\d+(?:\.\d+)?)$/.exec(text);
  if (match === null) throw new Error(`The bound "${text}" is not one of ">= n", "<= n", "== n".`);
  return { operator: match[1] as Bound['operator'], limit: Number(match[2]) };
}

/** Whether `value` keeps the bound; null when there is no value. */
export function judge(value: number | null, bound: Bound): boolean | null {
  if (value === null) return null;
  if (bound.operator === '>=') return value >= bound.limit;
  if (bound.operator === '<=') return value <= bound.limit;
  return value === bound.limit;
}

/** The line of one figure: measured, then judged. A figure that throws has failed, it is not "unknown". */
export async function measure(figure: Figure, boundText: string, options: FigureOptions): Promise<FigureLine> {
  const bound = parseBound(boundText);
  try {
    const { value, unit, problems = [], ...rest } = await figure.run(options);
    for (const problem of problems) options.log(problem);
    const rounded = value === null ? null : Number(value.toPrecision(4));
    const told = problems.length === 0 ? {} : { problems: problems.slice(0, maxProblems) };
    return { figure: figure.name, value: rounded, unit, bound: boundText, ok: judge(value, bound), ...told, ...rest };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    options.log(error instanceof Error ? (error.stack ?? why) : why);
    return { figure: figure.name, value: null, unit: '', bound: boundText, ok: false, n: 0, at: '', why };
  }
}
