/**
 * The gate: every call of a toolset goes through the same stages in the same order (contract, turn, lease, look, policy, approval, audit row,
 * action), and each call leaves a row that shows how far it came. Must not know HTTP, runs or models.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { AnyToolset } from '../../contracts/computer-use/members.ts';
import type { ToolsetCall } from '../../contracts/computer-use/toolset.ts';
import { type ActingDeps, createActing } from './acting.ts';
import { errorResult, noScreen, readStored } from './answers.ts';
import type { Approvals } from './approvals.ts';
import type { Audit, AuditCall, AuditRow, Outcome } from './audit.ts';
import type { ExecutorProgram } from './executor-program.ts';
import type { ToolsetCaller, ToolsetGate, ToolsetOutcome } from './gate.ts';
import { createJudging, type JudgingDeps } from './judging.ts';
import type { Lease } from './lease.ts';
import { createLooking, type LookingDeps } from './looking.ts';
import { createOrigins } from './origins.ts';
import { nameOfPlace, noToolset, placeOf, readCall } from './read-call.ts';
import type { Sessions } from './sessions.ts';
import { createEnds, createScreens, type Ended, type Way } from './way.ts';
import { maskedInput } from './words.ts';

interface Gate extends Pick<ToolsetGate, 'call'>, Omit<ReturnType<typeof createActing>, 'act' | 'actAsSeen'> {}

export function createGate(
  deps: Pick<LookingDeps, 'hosts' | 'uploads' | 'watched'> &
    Pick<JudgingDeps, 'policy' | 'defaults' | 'approver'> &
    Pick<ActingDeps, 'announce' | 'log'> & {
      readonly audit: Audit;
      readonly approvals: Approvals;
      readonly lease: Lease;
      readonly sessions: Sessions;
      readonly program: ExecutorProgram;
      /** What this computer has. */
      readonly toolsets: readonly AnyToolset[];
    },
): Gate {
  const { audit, lease } = deps;
  const lanes = createPlaceLanes();
  const origins = createOrigins();
  const screens = createScreens();
  const ends = createEnds({ ...deps, screens });
  const { look, recall } = createLooking({ ...deps, screens, ends, headless: deps.defaults === 'own' });
  const { judge, allowedBy } = createJudging({ ...deps, origins, screens, ends });
  const { act, actAsSeen, ...acting } = createActing({ ...deps, origins, screens, ends });

  async function call(call: ToolsetCall, caller: ToolsetCaller, signal: AbortSignal): Promise<ToolsetOutcome> {
    const place = placeOf(call);
    const has = deps.toolsets.includes(call.toolset);
    const read = has ? readCall(call) : noToolset(call.toolset, deps.toolsets);
    const row: AuditCall = {
      user: caller.userId,
      surface: caller.surface,
      holderKind: caller.holder.kind,
      holderId: caller.holder.id,
      place: nameOfPlace(place),
      toolset: call.toolset,
      member: call.member,
      // Whether it is a credential is not known yet.
      input: typeof read === 'string' ? {} : maskedInput(call.member, read.input, true),
      url: null,
      turnId: call.turn_id ?? null,
      callIndex: call.call_index ?? null,
      actionHash: null,
    };
    if (typeof read === 'string') return ends.invalid(row, read);
    const way: Way = { call, caller, signal, place, read, input: read.input, looked: null, to: null, files: [], row };
    // A caller that may not act does not wait behind one that may.
    if (!lease.holds(caller.holder)) await control(way);
    const work = () => lanes.run(nameOfPlace(place), signal, () => inTurn(way));
    return place.kind === 'browser' ? deps.sessions.using(place.session, work) : work();
  }

  async function inTurn(way: Way): Promise<ToolsetOutcome> {
    const stopped = await turn(way);
    if (stopped !== null) return stopped.answer;
    await control(way);
    // A call that is allowed anywhere on the page needs no look first, which would be a third of a click's cost.
    const known = recall(way);
    const rule = known === null ? null : allowedBy(known);
    const acted = known === null || rule === null ? null : await actAsSeen(known, rule);
    if (acted !== null) return acted;
    const seen = await look(way);
    if ('answer' in seen) return seen.answer;
    const judged = await judge(seen.way);
    return 'answer' in judged ? judged.answer : act(seen.way, judged.rule, judged.grant);
  }

  /** Takes control for the call, or keeps it. */
  async function control({ caller, row }: Way): Promise<void> {
    try {
      lease.hold(caller.holder);
    } catch (error) {
      if (error instanceof AppError) {
        await ends.row(row, 'lease', 'no_control', { code: 'take_control_first', message: error.fact });
      }
      throw error;
    }
  }

  async function turn(way: Way): Promise<Ended | null> {
    const { call, row, place, read } = way;
    if (call.turn_id === undefined) return null;
    await acting.settled();
    const verdict = judgeTurn(await audit.ofTurn(row.holderId, call.turn_id), row.callIndex);
    if (verdict.kind === 'go') return null;
    if (verdict.kind === 'stopped') {
      const { member, outcome } = verdict.by;
      return ends.notExecuted(way, `Not executed: ${member} before it in this turn ended as ${outcome}.`);
    }
    const before = verdict.row;
    if (before.member !== read.name || before.toolset !== read.toolset) {
      return ends.invalid(row, `call_index ${row.callIndex} of this turn was ${before.toolset}.${before.member}.`);
    }
    const message = `An earlier call started this, and it ended as ${before.outcome}. It does not run again. Check the result before you continue.`;
    const result =
      readStored(before.result) ?? errorResult(before.code ?? 'unknown_end', message, screens.of(place) ?? noScreen);
    return { answer: { kind: 'done', auditId: before.id, result, executed: false } };
  }

  return { call, ...acting };
}

/** Runs one action at a time in each place. Must not know the actions. */
interface PlaceLanes {
  /** Runs `work` after all that was given before it for this place. Rejects with the signal's reason when it aborts first. */
  run<Result>(place: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

function createPlaceLanes(): PlaceLanes {
  const last = new Map<string, Promise<void>>();
  return {
    async run(place, signal, work) {
      const before = last.get(place) ?? Promise.resolve();
      const { promise: over, resolve: end } = Promise.withResolvers<void>();
      const mine = before.then(() => over);
      last.set(place, mine);
      try {
        await before;
        signal.throwIfAborted();
        return await work();
      } finally {
        end();
        if (last.get(place) === mine) last.delete(place);
      }
    },
  };
}

/**
 * Calls of one turn: after the first that failed, no later one is carried out, and a call that was carried out is never repeated.
 * Decided by the audit, so that a restart forgets nothing. Pure.
 */
type TurnVerdict =
  | { readonly kind: 'go' }
  /** It has acted: the answer is its recorded result. */
  | { readonly kind: 'again'; readonly row: AuditRow }
  | { readonly kind: 'stopped'; readonly by: AuditRow };

/** A caller that sends these again may still get through; they stop later calls only by their index. */
const open: ReadonlySet<Outcome> = new Set<Outcome>(['approval_required', 'not_executed']);

/** `rows` of the turn, oldest first. */
function judgeTurn(rows: readonly AuditRow[], callIndex: number | null): TurnVerdict {
  const again = callIndex === null ? undefined : rows.find((row) => row.callIndex === callIndex && row.acts === 1);
  if (again !== undefined) return { kind: 'again', row: again };
  const latest = new Map<number, AuditRow>();
  for (const row of rows) if (row.callIndex !== null) latest.set(row.callIndex, row);
  const failed = (row: AuditRow) => row.outcome !== 'done' && row.outcome !== 'started' && !open.has(row.outcome);
  const by =
    rows.find((row) => row.callIndex === null && failed(row)) ??
    [...latest.values()]
      .sort((one, other) => one.callIndex! - other.callIndex!)
      .find((row) => (callIndex === null ? failed(row) : row.callIndex! < callIndex && row.outcome !== 'done'));
  return by === undefined ? { kind: 'go' } : { kind: 'stopped', by };
}
