/**
 * Decides where one sandboxed bot may connect: rules of the policy first, then the presets of its team file, else its person, who is asked once for a
 * destination however many connections wait for it. Must not know sockets or the proxy.
 */
import { isIP } from 'node:net';
import { isPublic } from '../../kit/egress/addresses.ts';
import { type HostAndPort, showHostAndPort } from '../../kit/egress/host-name.ts';
import { actionHash } from '../../kit/signing/action-hash.ts';
import type { Verdict } from '../../programs/sandbox-proxy/protocol.ts';
import type { ApprovalAnswer, Approvals } from '../approvals/index.ts';
import type { Base } from '../base/base.ts';
import { classOf, type Policy, type PolicyAction, riskOf } from '../policy/index.ts';
import { type PresetWishes, presetOf } from './presets.ts';

/** A start of a bot, as it decides what is asked. */
interface Asker extends PresetWishes {
  readonly agentId: string;
  /** `slug@team` */
  readonly address: string;
}

export interface Decider {
  /** Never rejects. Waits for a person at most as long as a program is to wait. */
  decide(to: HostAndPort): Promise<Verdict>;
  /** Leaves the questions: they end soon unless another start of the bot asks them. */
  close(): void;
}

/** A program gives up soon after. */
const waitsMs = 50_000;
/** A person may be away for a while. */
const expiresInMs = 60 * 60_000;
/** After that the bot may ask again what was answered with no. */
const rejectedMs = 10 * 60_000;
/** A bot that runs again at once, as after a restart, finds its questions. */
const withdrawnAfterMs = 60_000;
/** Questions of one bot that wait at a time. */
const maxQuestions = 20;
/** Answers that are kept; a program may name any number of hosts. */
const maxAnswers = 1000;

const asked: Verdict = {
  allow: false,
  reason: 'asked',
  why: 'asked; answer it in the inbox, then try again',
};

export function createDecider(
  asker: Asker,
  {
    policy,
    approvals,
    clock,
    timers,
    ownPorts,
    ...waits
  }: Pick<Base, 'clock' | 'timers'> & {
    readonly policy: Pick<Policy, 'decide'>;
    readonly approvals: Pick<Approvals, 'ask'>;
    /** Where Gantry itself listens on this computer: no rule opens these. */
    readonly ownPorts: () => readonly number[];
    readonly waitsMs?: number;
  },
): Decider {
  const leave = new AbortController();
  const waiting = new Map<string, Promise<Verdict>>();
  /** By destination: allowed for this start, or rejected until then. */
  const answers = new Map<string, { readonly allow: true } | { readonly allow: false; readonly until: number }>();

  function actionOf(to: HostAndPort): PolicyAction {
    const preset = presetOf(asker, to);
    return {
      tool: 'network.connect',
      bot: asker.address,
      host: showHostAndPort(to),
      ...(preset === null ? {} : { preset }),
      ...(isPrivate(to.host) ? { privateHost: true as const } : {}),
    };
  }

  function answered(what: string): Verdict | null {
    const answer = answers.get(what);
    if (answer?.allow === true) return { allow: true, isPrivateAllowed: false };
    if (answer === undefined || answer.until <= clock.monotonic()) return null;
    const minutes = Math.ceil((answer.until - clock.monotonic()) / 60_000);
    return { allow: false, reason: 'rejected', why: `a person said no; it can be asked again in ${minutes} min` };
  }

  async function question(what: string, action: PolicyAction): Promise<Verdict> {
    const { preset: _, ...plain } = action;
    try {
      const { answer } = await approvals.ask(
        {
          source: 'gate',
          kind: 'destination',
          title: `${asker.address} wants ${what}`,
          summary: `connect to ${what}`,
          risk: riskOf[classOf(action)],
          agentId: asker.agentId,
          actionHash: actionHash({ ...plain, asker: asker.agentId }),
          action: plain,
          expiresInMs,
          dedupeKey: `network:${asker.agentId}:${what}`,
          comesBack: { waitsMs: expiresInMs, withdrawnAfterMs },
        },
        { signal: leave.signal },
      );
      return take(what, await answer);
    } catch (fault) {
      return { allow: false, reason: 'limit', why: `nobody can be asked: ${(fault as Error).message}` };
    } finally {
      waiting.delete(what);
    }
  }

  function take(what: string, answer: ApprovalAnswer): Verdict {
    if (answer.kind === 'expired') return { allow: false, reason: 'rejected', why: 'nobody answered in time' };
    if (answer.kind === 'withdrawn') return { allow: false, reason: 'rejected', why: 'the question was withdrawn' };
    if (answers.size >= maxAnswers) answers.delete(answers.keys().next().value!);
    answers.set(
      what,
      answer.kind === 'approve' ? { allow: true } : { allow: false, until: clock.monotonic() + rejectedMs },
    );
    return answered(what)!;
  }

  /** One question for all that wait for this destination. */
  function ask(what: string, action: PolicyAction): Promise<Verdict> {
    const open = waiting.get(what);
    if (open !== undefined) return open;
    if (waiting.size >= maxQuestions) {
      const why = `${maxQuestions} questions of this bot already wait for an answer`;
      return Promise.resolve({ allow: false, reason: 'limit', why });
    }
    const answer = question(what, action);
    waiting.set(what, answer);
    return answer;
  }

  async function decide(to: HostAndPort): Promise<Verdict> {
    const what = showHostAndPort(to);
    const action = actionOf(to);
    const { verdict, rule } = policy.decide(action, null);
    if (verdict === 'deny') {
      const isClosed = action.privateHost === true && rule.startsWith('default:');
      return { allow: false, reason: isClosed ? 'private' : 'rule', why: rule.replace(/^default: /, '') };
    }
    if (verdict === 'allow') {
      const isOwn = ownPorts().includes(to.port);
      if (isOwn && action.privateHost === true) {
        return { allow: false, reason: 'private', why: 'Gantry itself listens there' };
      }
      // A name may lead anywhere: only a rule that names it lets it lead into a private network.
      const named = policy.decide({ ...action, privateHost: true }, null).verdict === 'allow';
      return { allow: true, isPrivateAllowed: named && !isOwn };
    }
    const known = answered(what);
    if (known !== null) return known;
    const answer = ask(what, action);
    let cancel = () => {};
    const late = new Promise<Verdict>((resolve) => {
      cancel = timers.after(waits.waitsMs ?? waitsMs, () => resolve(asked));
    });
    return Promise.race([answer, late]).finally(cancel);
  }

  return {
    decide: (to) =>
      decide(to).catch((fault: unknown) => ({ allow: false, reason: 'rule', why: `it failed: ${String(fault)}` })),
    close: () => leave.abort(),
  };
}

/** By its text: an address, or a name that leads to this computer or its network by definition. */
function isPrivate(host: string): boolean {
  return isIP(host) === 0 ? /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/.test(host) : !isPublic(host);
}
