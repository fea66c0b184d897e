/**
 * What the suite asks of an orchestrator. Another one is put in Gantry's place by writing these functions for it; plan, oracle and verdicts stay.
 * See docs/chaos.md.
 */
import type { Fault, Target } from './plan.ts';

/** A report that a program tried to make, as the program itself wrote it down outside of the orchestrator. */
export interface Report {
  /** Its text, which is nowhere else. */
  readonly token: string;
  readonly kind: 'progress' | 'done';
  readonly run: string;
  readonly step: string;
  /** The attempt that the program had been given when it began to work. */
  readonly attempt: number | null;
  /**
   * `taken`: answered as done. `kept`: answered as kept, to be delivered. `refused`: answered with a reason. `unheard`: nobody took it.
   * `unknown`: the program was killed before it read an answer.
   */
  readonly answer: 'taken' | 'kept' | 'refused' | 'unheard' | 'unknown';
  /** Of a kept one. */
  readonly id: string | null;
}

/** A step as the orchestrator shows it at the end. */
export interface Step {
  readonly run: string;
  readonly step: string;
  readonly status: 'waiting' | 'working' | 'needs_person' | 'done' | 'ended';
  readonly attempt: number;
  /** The sentence that says why. */
  readonly why: string;
  readonly output: string | null;
  /** Who does it: only of programs is it known whether they are at work. */
  readonly by: 'program' | 'model' | 'command' | 'person';
  /** Its person has been asked, where it needs one. */
  readonly isAsked: boolean;
}

export interface Task {
  readonly id: string;
  readonly status: string;
  /** The lease that the result names. */
  readonly resultOf: number | null;
  /** Leases under which its command ran to its end, as the command itself wrote them down. */
  readonly ran: readonly number[];
}

export interface Seen {
  readonly reports: readonly Report[];
  /** Texts of everything that the orchestrator has applied, each as often as it was applied. */
  readonly applied: readonly string[];
  /** Kept reports that were refused when they were taken, by id, and brought back to their program. */
  readonly refusedLater: ReadonlySet<string>;
  readonly steps: readonly Step[];
  /** `<run> <step>` of steps that a program is at work on, by its own word. */
  readonly atWork: ReadonlySet<string>;
  /** Each end of an attempt that the orchestrator recorded, `<run> <step> <attempt>`. */
  readonly ends: readonly string[];
  /** Runs that were acknowledged, and those that are there. */
  readonly begun: readonly string[];
  readonly runs: ReadonlySet<string>;
  readonly created: readonly string[];
  readonly tasks: readonly Task[];
  /** Signed events: acknowledged and lost, doubled or out of order, one sentence each. */
  readonly events: { readonly lost: readonly string[]; readonly twice: readonly string[] };
  /** Refusals and ends that nobody asked for. */
  readonly surprises: readonly string[];
}

export interface System {
  /** What can go wrong here. */
  readonly targets: readonly Target[];
  /** Work begins that will be under way when the next fault comes. What is not answered is not acknowledged. */
  work(): Promise<void>;
  /** What a person does who looks at it now and then: answers questions, has steps tried again, starts what has ended. */
  attend(): Promise<void>;
  /** Plays one fault, to its end; everything is up again when this resolves. */
  play(fault: Fault): Promise<void>;
  /** Everything has ended, and nothing is on its way. */
  isAtRest(): Promise<boolean>;
  seen(): Promise<Seen>;
  /** Numbers for the report. */
  counts(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}
