/** A call on its way through the gate: its known facts, and its possible ends. Must not know stages. */
import type { Screen, ToolsetCall } from '../../contracts/computer-use/toolset.ts';
import type { Looked, Place } from '../../programs/executor/protocol.ts';
import { deviceError, errorResult, invalidCall, noScreen, storedResult } from './answers.ts';
import type { ApprovalRow } from './approvals.ts';
import type { Audit, AuditCall, AuditEnd, Outcome, Stage } from './audit.ts';
import type { Input } from './coordinates.ts';
import type { ExecutorFault } from './executor-program.ts';
import type { ToolsetCaller, ToolsetOutcome } from './gate.ts';
import type { Destination } from './hosts.ts';
import { nameOfPlace, type ReadCall } from './read-call.ts';
import type { Sessions } from './sessions.ts';

export interface Way {
  readonly call: ToolsetCall;
  readonly caller: ToolsetCaller;
  readonly signal: AbortSignal;
  readonly place: Place;
  readonly read: ReadCall;
  readonly input: Input;
  readonly looked: Looked | null;
  /** {@link Way.looked} is the last seen state: this call had no look, and acts only while that state still holds. */
  readonly recalled?: true;
  /** Where a navigation leads. */
  readonly to: Destination | null;
  /** Its uploaded files, as rules of the policy name them. */
  readonly files: readonly string[];
  /** Its audit row. */
  readonly row: AuditCall;
}

/** The result of a stage: the call ends here, or continues. */
export type Ended = { readonly answer: ToolsetOutcome };
export type Seen = Ended | { readonly way: Way };
export type Judged = Ended | { readonly rule: string; readonly grant: ApprovalRow | null };

/** For this many places; the oldest needs a new look. */
const maxScreens = 200;

/** Screens as they were last. */
export interface Screens {
  of(place: Place): Screen | null;
  set(place: Place, screen: Screen): void;
}

export function createScreens(): Screens {
  const known = new Map<string, Screen>();
  return {
    of: (place) => known.get(nameOfPlace(place)) ?? null,
    set(place, screen) {
      known.delete(nameOfPlace(place));
      known.set(nameOfPlace(place), screen);
      if (known.size > maxScreens) known.delete(known.keys().next().value!);
    },
  };
}

type More = Omit<AuditEnd, 'stage' | 'outcome'>;
/** Records its end; returns the id of its row. */
type Finish = (outcome: Outcome, more: More) => Promise<string>;

/** The ends of calls that are no success. */
export function createEnds({
  audit,
  screens,
  sessions,
}: {
  readonly audit: Pick<Audit, 'write'>;
  readonly screens: Screens;
  readonly sessions: Pick<Sessions, 'lost'>;
}) {
  const row = (call: AuditCall, stage: Stage, outcome: Outcome, more: More = {}): Promise<string> =>
    audit.write(call, { stage, outcome, ...more });

  /** An answer with `is_error`: the model should see it. */
  async function said(place: Place, code: string, message: string, auditId: string, executed = false): Promise<Ended> {
    const result = errorResult(code, message, screens.of(place) ?? noScreen);
    return { answer: { kind: 'done', auditId, result, executed } };
  }

  return {
    row,
    async invalid(call: AuditCall, message: string): Promise<never> {
      await row(call, 'contract', 'invalid', { code: 'invalid_toolset_call', message });
      throw invalidCall(message);
    },
    async notExecuted({ row: call, place }: Way, message: string): Promise<Ended> {
      const auditId = await row(call, 'turn', 'not_executed', { code: 'not_executed', message });
      return said(place, 'not_executed', message, auditId);
    },
    async notOpened({ row: call, place }: Way, message: string, rule: string): Promise<Ended> {
      const auditId = await row(call, 'policy', 'denied', { code: 'navigation_refused', message, rule });
      return said(place, 'navigation_refused', message, auditId);
    },
    /** A file that must not be handed over, or does not exist. */
    async notHanded({ row: call, place }: Way, code: string, message: string): Promise<Ended> {
      const auditId = await row(call, 'policy', 'denied', { code, message });
      return said(place, code, message, auditId);
    },
    /** An executor error: a page's fault is an answer, a missing browser or display is not. */
    async faulted({ place, looked }: Way, { fault }: ExecutorFault, finish: Finish): Promise<ToolsetOutcome> {
      const { code } = fault;
      // The page may repeat typed text.
      const message = looked?.credential === true ? null : fault.message;
      if (fault.sort === 'device') {
        if (place.kind === 'browser') sessions.lost(place.session);
        await finish(fault.unknownEnd === true ? 'unknown' : 'failed', { code, message });
        throw deviceError(fault);
      }
      if (fault.sort === 'invalid') {
        await finish('invalid', { code: 'invalid_toolset_call', message });
        throw invalidCall(fault.message);
      }
      const result = errorResult(code, fault.message, screens.of(place) ?? noScreen);
      const outcome = code === 'cancelled' ? 'cancelled' : fault.sort === 'refused' ? 'denied' : 'error';
      const auditId = await finish(outcome, { code, message, result: message === null ? null : storedResult(result) });
      return { kind: 'done', auditId, result, executed: true };
    },
  };
}

export type Ends = ReturnType<typeof createEnds>;
