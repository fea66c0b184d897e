/**
 * A toolset call on its way to a computer's executor and back: checks the spend cap, the key's cap and the state of the computer, wakes it, passes
 * the call on unread, then records its usage and its events. Never acts itself. Must not know members or policy.
 */
import { z } from 'zod';
import {
  AppError,
  type ErrorCode,
  plainStatus,
  type RefusedStatus,
  refusedStatuses,
} from '../../contracts/common/errors.ts';
import { Control, ToolsetApproval, type ToolsetCall, ToolsetResult } from '../../contracts/computer-use/toolset.ts';
import type { HostedEvent } from '../../contracts/hosted-computers/computer.ts';
import { answerHostedApproval } from '../../contracts/hosted-computers/device.ts';
import { clientOf, everyScope } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { HostedApprovals } from './approvals.ts';
import type { Caps, CapsOf } from './caps.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Meters, Prices } from './meters.ts';
import { awake, type ComputerRow, notRunning, starting, tooMany, unavailable, unknownComputer } from './model.ts';
import type { Project } from './projects.ts';
import type { HostedSettings } from './settings.ts';
import type { ComputerStore } from './store.ts';
import type { Ways } from './ways.ts';

interface CallAsked {
  readonly project: Project;
  readonly computerId: string;
  readonly principal: Principal;
  readonly call: ToolsetCall;
}

export interface Calls {
  toolset(asked: CallAsked): Promise<ToolsetResult>;
  /** A caller's requests to the engine other than toolset calls: they wake the computer and keep it awake, and do not count as actions. */
  during<T>(asked: Omit<CallAsked, 'call'>, work: (row: ComputerRow) => Promise<T>): Promise<T>;
}

export const devicePath = '/api/v1/computers/this-device';
/** A call still open after this was lost with its process. Milliseconds. */
const callMs = 360_000;

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

interface CallsDeps {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly ids: { next(prefix: string): string };
  readonly computers: ComputerStore;
  readonly lifecycle: Pick<Lifecycle, 'wake'>;
  readonly ways: Pick<Ways, 'ask'>;
  readonly meters: Meters;
  readonly approvals: HostedApprovals;
  readonly settings: Pick<HostedSettings, 'of'>;
  readonly caps: CapsOf;
  readonly prices: () => Promise<Prices>;
  /** The page where a person answers this computer's approvals. */
  readonly approveUrl: (computerId: string) => string;
}

export function createCalls(deps: CallsDeps): Calls {
  const { now, ids, computers, ways, meters, approvals } = deps;
  const admitted = createAdmission(deps);

  /** An answer given in the meantime is stored before the call that names it. */
  async function bringAnswer(row: ComputerRow, principal: Principal, grant: string): Promise<void> {
    const approval = await approvals.find(row.id, grant);
    if (approval === null || approval.toldAt !== null) return;
    if (approval.state !== 'approved' && approval.state !== 'denied') return;
    const decision = approval.state === 'approved' ? 'approve' : 'deny';
    const path = answerHostedApproval.path.replace(':approvalId', encodeURIComponent(grant));
    const body = { decision, by: approval.resolvedBy ?? 'owner' };
    // The cloud has judged who may answer, so it passes the decision on in its own name, not in the caller's.
    const cloud = { kind: 'owner', userId: principal.userId, scopes: everyScope, via: 'cloud' } as const;
    const { status } = await ways.ask(row, { method: 'POST', path, body, principal: cloud });
    // If the question is no longer open, that is an answer too, and the call itself says so.
    if (status !== 200)
      throw unavailable(`The computer refused the answer to ${grant} (${status}).`, 'See its events.');
    await approvals.told(grant);
  }

  async function toolset({ project, computerId, principal, call }: CallAsked): Promise<ToolsetResult> {
    const settings = await deps.settings.of(project.id);
    const check = () => {
      if (call.toolset === 'browser' && !settings.browser_toolset) throw noBrowser();
    };
    const keyId = principal.keyId ?? null;
    const about = {
      toolset: call.toolset,
      member: call.member,
      key_id: keyId,
      ...(call.run_id === undefined ? {} : { run_id: call.run_id }),
      ...(call.turn_id === undefined ? {} : { turn_id: call.turn_id, call_index: call.call_index ?? null }),
    };
    const answer = await admitted<Answered>(
      { project, computerId, principal },
      async (row) => {
        if (call.approval_grant !== undefined) await bringAnswer(row, principal, call.approval_grant);
        const value = await ways.ask(row, { method: 'POST', path: `${devicePath}/toolset`, body: call, principal });
        return { value, note: (tx, now, prices) => note(tx, now, prices, value) };
      },
      check,
    );
    if (answer.status === 200) {
      const result = ToolsetResult.safeParse(answer.body);
      if (result.success) return result.data;
      throw unreadable();
    }
    throw refusalOf(answer, (approval) => ({
      ...approval,
      approve_url: deps.approveUrl(computerId),
      approver: settings.approval_mode,
    }));

    function* note(tx: SharedTx, row: ComputerRow, prices: Prices, { status, body }: Answered): Op<void> {
      const tell = (type: HostedEvent['type'], code?: string) =>
        computers.append(tx, computerId, type, code === undefined ? about : { ...about, code });
      if (status === 200) {
        const result = ToolsetResult.safeParse(body);
        if (!result.success) return yield* tell('action.failed', 'unreadable');
        const { is_error: failed, error } = result.data;
        const code = error?.code ?? 'failed';
        if (code === 'not_executed') return yield* tell('action.failed', code);
        const { turn_id: turn, call_index: index } = call;
        // The executor distinguishes calls of a turn by who holds control and by their input; otherwise a repeated action would be free.
        const holder = call.run_id ?? clientOf(principal);
        const same = `${holder}:${turn}:${index}:${call.toolset}.${call.member}`;
        const id = turn === undefined || index === undefined ? ids.next('action') : same;
        // The same response again: the call was recorded before.
        if (!(yield* meters.action(tx, row, { id, keyId, at: now() }, prices))) return;
        if (call.approval_grant !== undefined) yield* approvals.ended(tx, computerId, call.approval_grant, 'used');
        return yield* failed ? tell('action.failed', code) : tell('action.completed');
      }
      const { code, message } = (body as Partial<Refusal>).error ?? { code: 'internal', message: '' };
      const { approval, words } = body as { approval?: unknown; words?: unknown };
      const asked = ToolsetApproval.safeParse(approval);
      if (code === 'approval_required' && asked.success)
        return yield* approvals.asked(tx, computerId, asked.data, typeof words === 'string' ? words : message);
      if (status === 403) return yield* tell('action.denied', code);
      // A request that was no call concerns only its caller.
      if (status >= 500) yield* tell('action.failed', code);
    }
  }

  return {
    toolset,
    during: (asked, work) => admitted(asked, async (row) => ({ value: await work(row) })),
  };
}

/** What a call adds to its computer's records, in the commit that writes its usage. */
type Note = (tx: SharedTx, row: ComputerRow, prices: Prices) => Op<void>;

/** Work at a computer: refused or admitted, under way while it lasts, then its usage is recorded. */
function createAdmission(deps: CallsDeps) {
  const { store, now, ids, computers, lifecycle, meters } = deps;
  return admitted;

  /** Every check that refuses a call before its computer sees it, in this order. */
  function* admit(tx: SharedTx, callId: string, computerId: string, keyId: string | null, caps: Caps): Op<ComputerRow> {
    yield* caps.checkSpend(tx);
    const at = now();
    if (keyId !== null) {
      const count = 'SELECT count(*) AS n FROM hosted_call WHERE key_id = ? AND until > ?';
      const { n } = (yield* tx.get<{ n: number }>(count, keyId, at))!;
      if (n >= caps.room.ofKey) throw tooMany('calls under way', caps.room.ofKey);
    }
    const row = yield* computers.find(tx, computerId);
    if (row === null || row.phase === 'deleted') throw unknownComputer(computerId);
    if (row.phase === 'provisioning' || row.phase === 'starting') throw starting(computerId);
    if (row.phase !== 'running' && row.phase !== 'sleeping') throw notRunning(computerId, row.phase);
    const insert = 'INSERT INTO hosted_call (id, computer_id, key_id, until) VALUES (?, ?, ?, ?)';
    yield* tx.run(insert, callId, computerId, keyId, at + callMs);
    yield* tx.run('UPDATE hosted_computer SET used_at = ? WHERE id = ?', at, computerId);
    return row;
  }

  /** Writes the usage, and what `note` adds, in one commit. */
  async function over(callId: string, computerId: string, answered: boolean, note: Note | undefined) {
    const prices = await deps.prices();
    await store.write(function* (tx) {
      yield* tx.run('DELETE FROM hosted_call WHERE id = ?', callId);
      yield* tx.run('UPDATE hosted_computer SET used_at = ? WHERE id = ?', now(), computerId);
      const row = yield* computers.find(tx, computerId);
      if (row === null) return;
      // The sweep of each minute finds out, and counts, whether a computer that did not answer still runs.
      if (answered && row.phase === 'running') yield* meters.minutes(tx, row, now(), prices);
      if (note !== undefined) yield* note(tx, row, prices);
    });
  }

  /** After the way to a computer broke, its phase says why. */
  async function broken(computerId: string, fault: unknown): Promise<unknown> {
    if (fault instanceof AppError) return fault;
    const row = await computers.get(computerId);
    if (row === null || row.phase === 'deleted') return unknownComputer(computerId);
    if (!awake.includes(row.phase) && row.phase !== 'sleeping') return notRunning(computerId, row.phase);
    return unavailable(`The computer ${computerId} did not answer: ${(fault as Error).message}`, 'See its events.');
  }

  async function admitted<T>(
    { project, computerId, principal }: Omit<CallAsked, 'call'>,
    work: (row: ComputerRow) => Promise<{ readonly value: T; readonly note?: Note }>,
    check?: () => void,
  ): Promise<T> {
    const caps = await deps.caps(project);
    const callId = ids.next('call');
    const keyId = principal.keyId ?? null;
    const row = await store.write((tx) => admit(tx, callId, computerId, keyId, caps));
    let note: Note | undefined;
    let answered = true;
    try {
      check?.();
      const up = row.phase === 'sleeping' ? await lifecycle.wake(computerId, caps.room) : row;
      const done = await work(up);
      note = done.note;
      return done.value;
    } catch (fault) {
      answered = fault instanceof AppError;
      throw await broken(computerId, fault);
    } finally {
      await over(callId, computerId, answered, note);
    }
  }
}

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

/** Code inside a hosted computer answers here: only fields of this shape are passed on, and only the cloud says where a person answers. */
const RefusalBody = z.object({
  error: z.object({ code: z.string().regex(/^[a-z_]{1,60}$/), message: z.string().max(4000) }),
  approval: ToolsetApproval.optional(),
  words: z.string().optional(),
  result: ToolsetResult.optional(),
  control: Control.optional(),
  rule: z.string().optional(),
});

export const unreadable = () => unavailable('The answer of the computer cannot be read.', 'See its events.');

const codeOf: Readonly<Record<number, ErrorCode>> = { 400: 'usage', 404: 'not_found', 504: 'timeout' };

/** The executor's refusal, as ours: same code, message and details. */
export function refusalOf(
  { status, body }: Answered,
  approvalOf: (given: ToolsetApproval) => ToolsetApproval | null = () => null,
): AppError {
  const read = RefusalBody.safeParse(body);
  if (!read.success || status === 401 || status === 421) {
    return unavailable(`The computer answered ${status}.`, 'See its events.');
  }
  const { error, approval: given, ...beside } = read.data;
  const approval = given === undefined ? null : approvalOf(given);
  const extra = { ...(approval === null ? {} : { approval }), ...beside };
  const refused = refusedStatuses.find((known) => known === status) as RefusedStatus | undefined;
  const known = status in codeOf || plainStatus[error.code] === status;
  const code = codeOf[status] ?? (status >= 500 ? 'transport' : 'refused');
  return new AppError(code, error.message, '', {
    wireCode: known || refused !== undefined ? error.code : 'computer_unavailable',
    ...(refused === undefined ? {} : { status: refused }),
    extra,
  });
}

function noBrowser(): AppError {
  return new AppError('refused', 'The browser toolset is turned off for this project.', 'Use the computer toolset.', {
    wireCode: 'browser_toolset_disabled',
  });
}
