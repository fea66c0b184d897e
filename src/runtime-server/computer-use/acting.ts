/**
 * The action itself: runs only once its row is durable and its grant is used up, and only while its caller still has control; its result is written
 * afterwards. Must not know what is allowed.
 */
import type { ToolsetResult } from '../../contracts/computer-use/toolset.ts';
import type { Looked, Place } from '../../programs/executor/protocol.ts';
import { resultOf, storedResult } from './answers.ts';
import type { ApprovalRow, Approvals } from './approvals.ts';
import type { Audit, AuditEnd } from './audit.ts';
import { type ExecutorAnswer, ExecutorFault, type ExecutorProgram } from './executor-program.ts';
import type { Holder, ToolsetOutcome } from './gate.ts';
import { destinationOf } from './hosts.ts';
import type { Lease } from './lease.ts';
import type { Origins } from './origins.ts';
import { nameOfPlace, timeLimitOf } from './read-call.ts';
import type { Sessions } from './sessions.ts';
import type { Ends, Screens, Way } from './way.ts';
import { titleOf } from './words.ts';

interface NextAction {
  readonly member: string;
  readonly words: string;
  readonly region: Looked['region'];
}

export interface ActingDeps {
  readonly audit: Pick<Audit, 'write' | 'close' | 'flush'>;
  readonly approvals: Pick<Approvals, 'use'>;
  readonly lease: Pick<Lease, 'holds' | 'hold'>;
  readonly origins: Pick<Origins, 'letInto'>;
  readonly sessions: Pick<Sessions, 'letInto' | 'tookSecret'>;
  readonly program: Pick<ExecutorProgram, 'request' | 'tell'>;
  readonly screens: Screens;
  readonly ends: Ends;
  /** Before an action happens, and null after it. */
  readonly announce: (place: Place, next: NextAction | null) => void;
  readonly log: { error(message: string, facts?: Record<string, unknown>): void };
}

const isChanged = (error: unknown): error is ExecutorFault =>
  error instanceof ExecutorFault && error.fault.code === 'changed';

export function createActing(deps: ActingDeps) {
  const { audit, lease, program, screens, ends } = deps;
  const acting = new Map<string, { readonly place: Place; readonly holder: Holder }>();
  const closing = new Set<Promise<void>>();

  async function act(way: Way, rule: string, grant: ApprovalRow | null): Promise<ToolsetOutcome> {
    const { caller, place, read, looked } = way;
    const acts = read.member.class !== 'observe';
    const row = { ...way.row, actionHash: grant?.actionHash ?? null };
    const auditId = await audit.write(
      row,
      { stage: 'action', outcome: 'started', acts, rule, approvalId: grant?.id ?? null },
      (tx) => grant !== null && deps.approvals.use(tx, grant.id),
    );
    const finish = async (outcome: AuditEnd['outcome'], more: Omit<AuditEnd, 'stage' | 'outcome'> = {}) => {
      const closed = close(auditId, { outcome, ...more });
      // A turn repeats a call's result after a restart, so it is stored before it is reported.
      if (row.turnId !== null) {
        audit.flush();
        await closed;
      }
      return auditId;
    };
    // While the row was written somebody may have taken control.
    try {
      if (!lease.holds(caller.holder)) lease.hold(caller.holder);
    } catch (error) {
      await finish('no_control', { code: 'take_control_first' });
      throw error;
    }
    if (grant !== null) remember(way);
    const words = titleOf(read.toolset, read.name, way.row.input, looked?.element ?? null);
    // Before it is done: what fails half way has typed something too.
    if (looked?.credential === true && place.kind === 'browser') deps.sessions.tookSecret(place.session);
    deps.announce(place, { member: read.name, words, region: looked?.region ?? null });
    let result: ToolsetResult;
    try {
      const { acted, bytes } = await request(way);
      screens.set(place, acted!.screen);
      result = resultOf(acted!, bytes);
    } catch (error) {
      if (isChanged(error)) {
        await finish('not_executed', { acts: false, code: error.fault.code, message: error.fault.message });
        throw error;
      }
      if (error instanceof ExecutorFault) return await ends.faulted(way, error, finish);
      await finish('unknown', { message: String(error) });
      throw error;
    } finally {
      deps.announce(place, null);
    }
    // The page's answer may contain text that was typed into a credential field.
    const kept = storedResult(looked?.credential === true ? { ...result, content: [] } : result);
    await finish('done', { result: acts ? kept : null });
    return { kind: 'done', auditId, result, executed: true };
  }

  /** Acts on the last seen page. Null where another is shown now: nothing was done, and it needs a look. */
  async function actAsSeen(way: Way, rule: string): Promise<ToolsetOutcome | null> {
    try {
      return await act(way, rule, null);
    } catch (error) {
      if (isChanged(error)) return null;
      throw error;
    }
  }

  /** A person approved an action here: the run may use this site, and this browser may reach the private host. */
  function remember({ caller, place, looked, to }: Way): void {
    deps.origins.letInto(caller, to ?? destinationOf(looked?.url ?? ''));
    if (to !== null && place.kind === 'browser') deps.sessions.letInto(place.session, to.host);
  }

  /** Stopped when its caller leaves. */
  async function request({ caller, place, read, signal, input, looked, recalled }: Way): Promise<ExecutorAnswer> {
    const name = nameOfPlace(place);
    const stop = () => program.tell({ do: 'stop', place });
    acting.set(name, { place, holder: caller.holder });
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) throw new ExecutorFault({ sort: 'page', code: 'cancelled', message: 'The caller left.' });
      const { toolset, name: member } = read;
      const { screen, url } = looked ?? {};
      const seen = recalled && screen && url ? { seen: { screen, url } } : {};
      return await program.request({ do: 'act', place, toolset, member, input, timeoutMs: timeLimitOf(read), ...seen });
    } finally {
      signal.removeEventListener('abort', stop);
      acting.delete(name);
    }
  }

  /** Rejects where it could not be written, which the log shows even if no caller waits. */
  function close(auditId: string, done: Omit<AuditEnd, 'stage'>): Promise<void> {
    const closed = audit.close(auditId, done);
    closing.add(closed);
    closed
      .catch((fault: unknown) =>
        deps.log.error('The end of an action could not be saved.', { auditId, fault: String(fault) }),
      )
      .finally(() => closing.delete(closed));
    return closed;
  }

  return {
    act,
    actAsSeen,
    /** Stops the actions of a holder who has lost control. */
    stopActsOf({ kind, id }: Holder): void {
      for (const { place, holder } of acting.values()) {
        if (holder.kind === kind && holder.id === id) program.tell({ do: 'stop', place });
      }
    },
    /** Stops runs and keys: a person who uses mouse and keyboard themselves is not affected. */
    stopActsAt(place: Place): void {
      const at = acting.get(nameOfPlace(place));
      if (at !== undefined && at.holder.kind !== 'person') program.tell({ do: 'stop', place });
    },
    /** Every action that has ended is closed in the audit, or cannot be. */
    async settled(): Promise<void> {
      audit.flush();
      await Promise.allSettled(closing);
    },
  };
}
