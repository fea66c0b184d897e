/**
 * The gate: every call of a toolset goes through the same stages in the same order (contract, turn, lease, look, policy, approval, audit
 * row, action), and each call leaves a row that says how far it came. Must not know HTTP, runs or models.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Screen, ToolsetCall, ToolsetResult } from '../../contracts/computer-use/toolset.ts';
import type { Looked, Place } from '../../executor/protocol.ts';
import { classOf, type Policy, type PolicyAction, type PolicyVerdict, riskOf } from '../policy/index.ts';
import { deviceError, errorResult, invalidCall, keptResult, noScreen, readKept, resultOf } from './answers.ts';
import type { ApprovalRow, Approvals } from './approvals.ts';
import type { Audit, AuditCall, AuditEnd } from './audit.ts';
import { type Input, inFrame, needsFrame } from './coordinates.ts';
import { type ExecutorAnswer, ExecutorFault, type ExecutorProgram } from './executor-program.ts';
import type { Holder, ToolsetCaller, ToolsetGate, ToolsetOutcome } from './gate.ts';
import { type Destination, destinationOf, type Hosts } from './hosts.ts';
import { createPlaceLanes } from './lanes.ts';
import type { Lease } from './lease.ts';
import { createOrigins } from './origins.ts';
import { nameOfPlace, placeOf, type ReadCall, readCall, timeLimitOf } from './read-call.ts';
import type { Sessions } from './sessions.ts';
import { judgeTurn } from './turns.ts';
import { maskedInput, shownUrl, titleOf, wordsOf } from './words.ts';

export interface GateDeps {
  readonly audit: Audit;
  readonly approvals: Approvals;
  readonly lease: Lease;
  readonly policy: Pick<Policy, 'decide'>;
  readonly hosts: Hosts;
  readonly sessions: Sessions;
  readonly program: ExecutorProgram;
  readonly defaults: 'own' | 'hosted';
  readonly approver: 'owner' | 'api_key';
  /** Before an action happens, and null after it. */
  readonly announce: (place: Place, next: NextAction | null) => void;
  readonly log: { error(message: string, facts?: Record<string, unknown>): void };
}

export interface NextAction {
  readonly member: string;
  readonly words: string;
  readonly region: Looked['region'];
}

/** A call on its way: what is known of it so far. */
interface Way {
  readonly call: ToolsetCall;
  readonly caller: ToolsetCaller;
  readonly signal: AbortSignal;
  readonly place: Place;
  readonly read: ReadCall;
  readonly input: Input;
  readonly looked: Looked | null;
  readonly to: Destination | null;
  /** What the audit says of it. */
  readonly row: AuditCall;
}

type Judged = { readonly go: ApprovalRow | null; readonly rule: string } | { readonly answer: ToolsetOutcome };

export function createGate(deps: GateDeps) {
  const { audit, approvals, lease, policy, hosts, sessions, program } = deps;
  const lanes = createPlaceLanes();
  const origins = createOrigins();
  const screens = new Map<string, Screen>();
  const acting = new Map<string, { readonly place: Place; readonly holder: Holder }>();
  const closing = new Set<Promise<void>>();

  const screenOf = (place: Place) => screens.get(nameOfPlace(place)) ?? noScreen;

  async function call(call: ToolsetCall, caller: ToolsetCaller, signal: AbortSignal): Promise<ToolsetOutcome> {
    const place = placeOf(call);
    const read = readCall(call);
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
    if (typeof read === 'string') {
      await end(row, 'contract', 'invalid', { code: 'invalid_toolset_call', message: read });
      throw invalidCall(read);
    }
    // Who may not act does not wait for who may.
    await controlled(row, () => refuseUnlessFree(caller.holder));
    return lanes.run(nameOfPlace(place), signal, async () => {
      const way: Way = { call, caller, signal, place, read, input: read.input, looked: null, to: null, row };
      return (await turn(way)) ?? (await afterTurn(way));
    });
  }

  async function afterTurn(start: Way): Promise<ToolsetOutcome> {
    await controlled(start.row, () => lease.hold(start.caller.holder));
    const seen = await look(start);
    if ('kind' in seen) return seen;
    const judged = await judge(seen);
    return 'answer' in judged ? judged.answer : act(seen, judged.rule, judged.go);
  }

  /** A row for a call that ends here. */
  const end = (row: AuditCall, stage: AuditEnd['stage'], outcome: AuditEnd['outcome'], more: Partial<AuditEnd> = {}) =>
    audit.write(row, { stage, outcome, ...more });

  function refuseUnlessFree(holder: Holder): void {
    if (!lease.holds(holder)) lease.hold(holder);
  }

  async function controlled(row: AuditCall, check: () => void): Promise<void> {
    try {
      check();
    } catch (error) {
      if (error instanceof AppError) {
        await end(row, 'lease', 'no_control', { code: 'take_control_first', message: error.fact });
      }
      throw error;
    }
  }

  async function turn({ call, row, place, read }: Way): Promise<ToolsetOutcome | null> {
    if (call.turn_id === undefined) return null;
    await Promise.allSettled(closing);
    const verdict = judgeTurn(await audit.ofTurn(row.holderId, call.turn_id), row.callIndex);
    if (verdict.kind === 'go') return null;
    if (verdict.kind === 'stopped') {
      const message = `Not executed: ${verdict.by.member} before it in this turn ended as ${verdict.by.outcome}.`;
      const auditId = await end(row, 'turn', 'not_executed', { code: 'not_executed', message });
      const result = errorResult('not_executed', message, screenOf(place));
      return { kind: 'done', auditId, result, executed: false };
    }
    const before = verdict.row;
    if (before.member !== read.name || before.toolset !== read.toolset) {
      const message = `call_index ${row.callIndex} of this turn was ${before.toolset}.${before.member}.`;
      await end(row, 'contract', 'invalid', { code: 'invalid_toolset_call', message });
      throw invalidCall(message);
    }
    const message = `It was begun at an earlier call and ended as ${before.outcome}; it is not done again. Look before going on.`;
    const result = readKept(before.result) ?? errorResult(before.code ?? 'unknown_end', message, screenOf(place));
    return { kind: 'done', auditId: before.id, result, executed: false };
  }

  /** What is there now. For what only looks, the page that was seen last is enough. */
  async function look(way: Way): Promise<Way | ToolsetOutcome> {
    const { read, place } = way;
    const refused = navigationOf(way);
    if (refused !== null && 'why' in refused) {
      const message = `${String(read.input.url).slice(0, 200)} is not opened: ${refused.why}.`;
      return refusedNavigation(way, message);
    }
    const input = refused === null ? read.input : { ...read.input, url: refused.url };
    const to = refused?.to ?? null;
    try {
      await ready(place);
      if (read.member.class === 'observe' && read.member.points !== true) {
        const url = place.kind === 'browser' ? (sessions.page(place.session)?.url ?? null) : null;
        const row = { ...way.row, url: shownUrl(url), input };
        return { ...way, input, to, row };
      }
      return await lookAndPlace({ ...way, input, to });
    } catch (error) {
      if (!(error instanceof ExecutorFault)) throw error;
      return faulted(way, error, (outcome, more) => end(way.row, 'look', outcome, more));
    }
  }

  /** Where the call means to act. The frame may have changed since it was seen last. */
  async function lookAndPlace(way: Way): Promise<Way> {
    const { call, place, read, input, row } = way;
    let screen = screens.get(nameOfPlace(place));
    if (screen === undefined && needsFrame(call)) screen = (await lookAt(place, 'screenshot', {})).screen;
    let placed = screen === undefined ? { input } : inFrame(input, call, screen);
    let looked = 'input' in placed ? await lookAt(place, read.name, placed.input) : null;
    if (looked === null || JSON.stringify(looked.screen) !== JSON.stringify(screen)) {
      screen = (looked ?? (await lookAt(place, 'screenshot', {}))).screen;
      const again = inFrame(input, call, screen);
      const moved = JSON.stringify(again) !== JSON.stringify(placed);
      placed = again;
      if ('input' in placed && (moved || looked === null)) looked = await lookAt(place, read.name, placed.input);
    }
    if ('outside' in placed || looked === null) {
      const message = `The coordinates are outside: ${'outside' in placed ? placed.outside : 'there is no frame'}.`;
      await end(row, 'contract', 'invalid', { code: 'invalid_toolset_call', message });
      throw invalidCall(message);
    }
    // Into what is typed on a desktop nobody can see.
    const credential = looked.credential || (place.kind === 'desktop' && read.name === 'type');
    const masked = maskedInput(read.name, placed.input, credential);
    return { ...way, input: placed.input, looked, row: { ...row, url: shownUrl(looked.url), input: masked } };
  }

  async function lookAt(place: Place, member: string, input: Input): Promise<Looked> {
    const { looked } = await program.request({ do: 'look', place, member, input });
    screens.set(nameOfPlace(place), looked!.screen);
    return looked!;
  }

  function navigationOf({ read }: Way): { url: string; to: Destination | null } | { why: string } | null {
    if (read.toolset !== 'browser' || read.name !== 'navigate') return null;
    return hosts.navigation(String(read.input.url));
  }

  async function refusedNavigation(way: Way, message: string): Promise<ToolsetOutcome> {
    const auditId = await end(way.row, 'policy', 'denied', { code: 'navigation_refused', message });
    return {
      kind: 'done',
      auditId,
      result: errorResult('navigation_refused', message, screenOf(way.place)),
      executed: false,
    };
  }

  async function ready(place: Place): Promise<void> {
    if (place.kind === 'desktop') return;
    await sessions.open(place.session, { headless: deps.defaults === 'own', trace: false });
  }

  async function judge(way: Way): Promise<Judged> {
    const { caller, looked, read, to } = way;
    const at = to ?? destinationOf(looked?.url ?? way.row.url ?? '');
    const isPerson = caller.holder.kind === 'person';
    const action: PolicyAction = {
      tool: read.toolset,
      member: read.name,
      bot: null,
      ...(at === null ? {} : { host: at.host }),
      ...(to?.privateHost === true ? { privateHost: true } : {}),
      ...(looked?.credential === true && !isPerson ? { credential: true } : {}),
      ...(origins.isNew(caller, at, read.member.class) ? { newOrigin: true } : {}),
    };
    const free = deps.defaults === 'hosted' || caller.startedByPerson;
    const verdict = strict(policy.decide(action, free ? null : 'REQUIRE_APPROVAL'), action, caller);
    if (verdict.verdict === 'allow') return { go: null, rule: verdict.rule };
    if (verdict.verdict === 'deny') return { answer: await denied(way, verdict.rule, to) };
    return ask(way, action, verdict.rule);
  }

  async function denied(way: Way, rule: string, to: Destination | null): Promise<ToolsetOutcome> {
    if (to?.privateHost === true) return refusedNavigation(way, `${to.host} is not opened: ${rule}.`);
    const message = `${way.read.name} is not allowed: ${rule}.`;
    await end(way.row, 'policy', 'denied', { rule, code: 'policy_denied', message });
    return { kind: 'denied', rule, message };
  }

  async function ask(way: Way, action: PolicyAction, rule: string): Promise<Judged> {
    const { call, caller, looked, read, place } = way;
    const holderId = caller.holder.id;
    const actionHash = approvals.hashOf({
      toolset: read.toolset,
      member: read.name,
      input: way.input,
      place: nameOfPlace(place),
      holder: holderId,
    });
    const seen = JSON.stringify([
      looked?.url,
      looked?.element,
      looked?.screen.frame_width,
      looked?.screen.frame_height,
    ]);
    let found = await approvals.judge(call.approval_grant, { holderId, actionHash, seen });
    const isNew = found === null;
    const kind = classOf(action);
    // A person must see what they say yes to, but never what nobody may read.
    const shown = maskedInput(read.name, way.input, looked?.credential === true);
    const element = looked?.element ?? null;
    found ??= await approvals.ask({
      holderId,
      actionHash,
      seen,
      title: titleOf(read.toolset, read.name, shown, element),
      words: wordsOf({
        ...read,
        member: read.name,
        input: shown,
        url: looked?.url ?? null,
        element,
        task: caller.task,
        confirm: caller.confirm,
      }),
      risk: riskOf[kind],
      runId: caller.holder.kind === 'run' ? holderId : null,
      client: `${caller.userId}/${caller.surface}`,
      shown: {
        member: read.name,
        toolset: read.toolset,
        risk: riskOf[kind],
        confirmation_class: kind === 'risky' ? 'always' : kind === 'act' ? 'run' : 'none',
        approver: deps.approver,
      },
    });
    const row = { ...way.row, actionHash };
    const { id } = found;
    if (found.state === 'approved')
      return { go: found, rule: `${rule}; approved by ${found.answeredBy ?? 'a person'}` };
    if (found.state === 'denied') {
      const message = `${found.answeredBy ?? 'A person'} said no.`;
      await end(row, 'approval', 'denied', { rule, approvalId: id, code: 'approval_denied', message });
      throw new AppError('refused', message, 'Do not try it again in another way.', { wireCode: 'approval_denied' });
    }
    const message = `A person has to approve this first (${rule}).`;
    if (isNew) await end(row, 'approval', 'approval_required', { rule, approvalId: id, code: 'approval_required' });
    const result = errorResult('approval_required', message, screenOf(place));
    return { answer: { kind: 'approval_required', approval: found.shown, words: found.words, result } };
  }

  async function act(way: Way, rule: string, grant: ApprovalRow | null): Promise<ToolsetOutcome> {
    const { caller, place, read, to, looked } = way;
    const acts = read.member.class !== 'observe';
    const row = { ...way.row, actionHash: grant?.actionHash ?? null };
    const started = { stage: 'action', outcome: 'started', acts, rule, approvalId: grant?.id ?? null } as const;
    const auditId = await audit.write(row, started, (tx) => grant !== null && approvals.use(tx, grant.id));
    const finish = (outcome: AuditEnd['outcome'], more: Partial<AuditEnd> = {}) => {
      closeLater(auditId, { outcome, ...more });
      return auditId;
    };
    // While the row was written somebody may have taken control.
    if (!lease.holds(caller.holder)) {
      finish('no_control', { code: 'take_control_first' });
      refuseUnlessFree(caller.holder);
    }
    if (grant !== null) {
      origins.letInto(caller, to ?? destinationOf(looked?.url ?? ''));
      if (to !== null && place.kind === 'browser') sessions.letInto(place.session, to.host);
    }
    const title = titleOf(read.toolset, read.name, way.row.input, looked?.element ?? null);
    deps.announce(place, { member: read.name, words: title, region: looked?.region ?? null });
    try {
      const { acted, bytes } = await request(way);
      screens.set(nameOfPlace(place), acted!.screen);
      const result = resultOf(acted!, bytes);
      finish('done', { result: acts ? keptFor(way, result) : null });
      return { kind: 'done', auditId, result, executed: true };
    } catch (error) {
      if (!(error instanceof ExecutorFault)) {
        finish('unknown', { message: String(error) });
        throw error;
      }
      return faulted(way, error, async (outcome, more) => finish(outcome, more));
    } finally {
      deps.announce(place, null);
    }
  }

  /** Stops what is under way when the caller leaves. */
  async function request(way: Way): Promise<ExecutorAnswer> {
    const { caller, place, read, signal, input } = way;
    const name = nameOfPlace(place);
    const stop = () => program.tell({ do: 'stop', place });
    acting.set(name, { place, holder: caller.holder });
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) throw new ExecutorFault({ sort: 'page', code: 'cancelled', message: 'The caller left.' });
      const timeoutMs = timeLimitOf(read);
      return await program.request({
        do: 'act',
        place,
        toolset: read.toolset,
        member: read.name,
        input,
        timeoutMs,
      });
    } finally {
      signal.removeEventListener('abort', stop);
      acting.delete(name);
    }
  }

  /** What is typed into a credential field may stand in what the page answers. */
  const keptFor = ({ looked }: Way, result: ToolsetResult) =>
    keptResult(looked?.credential === true ? { ...result, content: [] } : result);

  async function faulted(
    { place, looked }: Way,
    { fault }: ExecutorFault,
    finish: (outcome: AuditEnd['outcome'], more: Partial<AuditEnd>) => Promise<string>,
  ): Promise<ToolsetOutcome> {
    const { code } = fault;
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
    const result = errorResult(code, fault.message, screenOf(place));
    const kept = { code, message, result: keptFor({ looked } as Way, result) };
    const outcome = code === 'cancelled' ? 'cancelled' : fault.sort === 'refused' ? 'denied' : 'error';
    const auditId = await finish(outcome, kept);
    return { kind: 'done', auditId, result, executed: true };
  }

  function closeLater(auditId: string, done: Omit<AuditEnd, 'stage'>): void {
    const closed = audit
      .close(auditId, done)
      .catch((fault: unknown) =>
        deps.log.error('The end of an action could not be kept.', { auditId, fault: String(fault) }),
      )
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  /** Ends at once what a holder does who has lost control. */
  function stopActsOf(holder: Holder | null): void {
    for (const each of acting.values()) {
      if (holder === null || (each.holder.kind === holder.kind && each.holder.id === holder.id)) {
        program.tell({ do: 'stop', place: each.place });
      }
    }
  }

  return {
    call,
    stopActsOf,
    /** Of runs and keys: a person who uses mouse and keyboard themselves is not stopped by that. */
    stopActsAt(place: Place): void {
      const at = acting.get(nameOfPlace(place));
      if (at !== undefined && at.holder.kind !== 'person') program.tell({ do: 'stop', place });
    },
    settled: async () => void (await Promise.allSettled(closing)),
  } satisfies Pick<ToolsetGate, 'call'> & Record<string, unknown>;
}

/** What a run asks of its own questions, on top of the policy. */
function strict(allowed: PolicyVerdict, action: PolicyAction, caller: ToolsetCaller): PolicyVerdict {
  const { approvals, confirm } = caller;
  const verdict: PolicyVerdict =
    confirm !== undefined && allowed.verdict === 'allow'
      ? { verdict: 'ask', rule: 'the vendor of the model wants it confirmed' }
      : allowed;
  if (approvals === 'always' && verdict.verdict === 'allow' && classOf(action) !== 'observe') {
    return { verdict: 'ask', rule: 'the run asks before every step' };
  }
  if (approvals === 'never' && verdict.verdict === 'ask') {
    return { verdict: 'deny', rule: `${verdict.rule}, and the run asks nobody` };
  }
  return verdict;
}
