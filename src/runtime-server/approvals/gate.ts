/**
 * The gate "may I?": the policy decides first, then a person, for exactly this action and once. A caller that stops waiting asks again: it joins its
 * open question, or takes an answer that came in between. Must not know how an answer arrives.
 */
import { checkGate, maxGateWaitSeconds } from '../../contracts/approvals/gate.ts';
import { visibleLine } from '../../contracts/approvals/visible.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { clientOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import { actionHash } from '../../kit/signing/action-hash.ts';
import { classOf, nameOf, type Policy, type PolicyAction, riskOf } from '../policy/index.ts';
import { type ApprovalAnswer, type Approvals, comesBackWithinMs } from './approvals.ts';
import { createTurns, type Turns } from './turns.ts';

interface GateDeps {
  readonly approvals: Pick<Approvals, 'ask'>;
  readonly policy: Pick<Policy, 'decide'>;
  readonly timers: Timers;
  /** `slug@team` of an agent; null when it is unknown. */
  readonly addressOf: (agentId: string) => string | null;
}

interface GateAnswer {
  readonly verdict: 'allow' | 'ask' | 'deny';
  readonly rule: string;
  readonly approvalId: string | null;
  readonly note: string | null;
}

/** A person may be away for a while; a later request is a new question. */
const expiresInMs = 60 * 60_000;

/** What a person would call an action; another is named as it is. What exactly it would do stands below. */
const actionWords: Readonly<Record<string, string>> = {
  'file.read': 'Read a file',
  'file.write': 'Write a file',
  'file.remove': 'Remove a file or folder',
  'shell.exec': 'Run a command',
  'http.get': 'Fetch from the web',
  'http.post': 'Send to the web',
};

export function gateRoutes(deps: GateDeps): BoundRoute[] {
  const turns = createTurns();
  return [
    bind(checkGate, async ({ principal, body, signal }) => {
      const { reason, waitSeconds = maxGateWaitSeconds, dryRun = false, ...action } = body;
      const bot = botOf(deps, principal);
      const decided = deps.policy.decide({ ...action, bot }, null);
      if (decided.verdict !== 'ask' || dryRun) return { body: { ...decided, approvalId: null, note: null } };
      return {
        body: await askPerson({ ...deps, turns }, { ...action, bot }, { principal, reason, waitSeconds, signal }),
      };
    }),
  ];
}

interface Asking {
  readonly principal: Principal;
  readonly reason: string | undefined;
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}

async function askPerson(
  { approvals, timers, turns }: GateDeps & { readonly turns: Turns },
  action: PolicyAction,
  { principal, reason, waitSeconds, signal }: Asking,
): Promise<GateAnswer> {
  const asker = principal.agentId ?? principal.userId;
  const hash = actionHash({ ...action, asker });
  const who = action.bot ?? 'A program of yours';
  const name = nameOf(action);
  const over = stopping(waitSeconds * 1000, timers, signal);
  const question = {
    source: 'gate' as const,
    kind: 'gate',
    title: `${who}: ${actionWords[name] ?? name}`,
    summary: summaryOf(action),
    ...(reason === undefined ? {} : { reason }),
    risk: riskOf[classOf(action)],
    agentId: principal.agentId ?? null,
    client: `${principal.userId}/${clientOf(principal)}`,
    actionHash: hash,
    action,
    expiresInMs,
    comesBack: { waitsMs: waitSeconds * 1000, withdrawnAfterMs: comesBackWithinMs },
    dedupeKey: `gate:${asker}:${hash}`,
  };
  try {
    for (;;) {
      const leave = new AbortController();
      let written = false;
      const apply = () => {
        written = true;
      };
      const asked = await approvals.ask(question, { signal: leave.signal, apply });
      const turn = turns.join(asked.id);
      // An answer that was taken for this caller could not be taken a second time.
      const answer = (await Promise.race([asked.answer, over.passed])) ?? (written ? await asked.answer : null);
      // From here on the caller is gone: an answer is kept for the next time it asks.
      leave.abort();
      const mine = turn.leave(answer?.kind === 'approve');
      // An identical question uses this yes. This one is asked again.
      if (answer?.kind === 'approve' && !mine) continue;
      return { ...wordsOf(answer), approvalId: asked.id };
    }
  } finally {
    over.cancel();
  }
}

/** `passed` is null once the time has run out or the caller has left. */
function stopping(ms: number, timers: Timers, signal: AbortSignal): { passed: Promise<null>; cancel: () => void } {
  let cancel = () => {};
  const passed = new Promise<null>((resolve) => {
    const end = () => resolve(null);
    const cancelTimer = timers.after(ms, end);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    cancel = () => {
      cancelTimer();
      signal.removeEventListener('abort', end);
    };
  });
  return { passed, cancel };
}

function wordsOf(answer: ApprovalAnswer | null): Omit<GateAnswer, 'approvalId'> {
  if (answer === null) return { verdict: 'ask', rule: 'nobody has answered yet', note: null };
  switch (answer.kind) {
    case 'approve':
    case 'reject': {
      const done = answer.kind === 'approve' ? 'approved' : 'rejected';
      const rule = `${done} by ${answer.by.user} via ${answer.by.surface} at ${answer.at}`;
      return { verdict: answer.kind === 'approve' ? 'allow' : 'deny', rule, note: answer.note };
    }
    case 'expired':
      return { verdict: 'deny', rule: 'nobody answered in time', note: null };
    case 'withdrawn':
      return { verdict: 'deny', rule: `the question was withdrawn (${answer.surface})`, note: null };
  }
}

/** Complete: the person approves this and nothing else. The command comes last: no line of it can pass for the path or the host. */
function summaryOf({ tool, member, path, host, command }: PolicyAction): string {
  const about = [
    path === undefined ? undefined : `path: ${visibleLine(path)}`,
    host === undefined ? undefined : `host: ${visibleLine(host)}`,
  ].filter((line) => line !== undefined);
  const lines = command === undefined ? about : [...about, command];
  return lines.length === 0 ? [tool, member].filter(Boolean).join('.') : lines.join('\n');
}

function botOf({ addressOf }: GateDeps, { agentId }: Principal): string | null {
  if (agentId === undefined) return null;
  const address = addressOf(agentId);
  if (address !== null) return address;
  throw new AppError('not_found', `No bot has the id ${JSON.stringify(agentId)}.`, 'Start its team again.');
}
