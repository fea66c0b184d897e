/** One agent of the workspace as the factory knows it, and in its wire form. Pure; must not know panes or rows. */
import {
  type Agent,
  type AgentBinding,
  type HarnessName,
  ownAccount,
  type PaneRef,
} from '../../contracts/factory/agent.ts';
import type { BotSpec } from '../harness/harness.ts';
import type { Shown } from './model.ts';
import type { Placement, RemoteRef } from './placement.ts';
import type { ResolvedBot } from './team-file/resolve.ts';

export interface Member {
  readonly id: string;
  readonly team: string;
  readonly slug: string;
  readonly address: string;
  /** From the team file; null when the file does not name it (any more) or has problems. */
  readonly definition: ResolvedBot | null;
  readonly spec: BotSpec | null;
  /** Its panes, oldest first; the last is the live one while {@link Member.live}. */
  readonly panes: readonly string[];
  readonly live: boolean;
  /** Its current place; without one, the place in its team file. */
  readonly placement: Placement;
  /** Where it runs when it is live on another computer; null here. */
  readonly remote: RemoteRef | null;
  readonly shown: Shown;
  /** Its own state, without holds. */
  readonly own: Shown;
}

export function paneOf(member: Pick<Member, 'live' | 'placement' | 'panes' | 'remote'>): PaneRef | null {
  if (member.remote !== null) return { id: member.remote.session, attachable: true };
  const id = member.panes.at(-1);
  return member.live && member.placement.inPaneHere && id !== undefined ? { id, attachable: true } : null;
}

interface AgentFacts {
  /** The pane engine cannot be read. */
  readonly stale: boolean;
  readonly computerId: string;
  readonly queueDepth: number;
  /** Why the computer that it runs on cannot be reached; null while it can, and for a bot of this one. */
  readonly away: string | null;
  /** The node that it holds now. */
  readonly work: Pick<Agent, 'currentNode' | 'proof'>;
  readonly limits: Pick<Agent, 'caps' | 'refused'>;
}

export function showAgent(member: Member, facts: AgentFacts): Agent {
  const bot = member.definition;
  const { placement, remote } = member;
  const shown = placement.shows ?? member.shown;
  const running = remote === null ? (member.spec?.harness ?? null) : remote.harness;
  return {
    id: member.id,
    slug: member.slug,
    name: bot?.name ?? member.slug,
    address: member.address,
    team: member.team,
    role: bot?.role ?? null,
    binding: bindingOf(bot, member.live && placement.inTerminal ? running : null),
    state: shown.state,
    stateReason: placement.shows === null ? (facts.away ?? shown.reason) : shown.reason,
    // The state of a bot in a pane is unknown while panes cannot be read; on another computer, while that is away.
    stale: placement.inPaneHere ? facts.stale : facts.away !== null,
    ...facts.work,
    pane: paneOf(member),
    machine: remote?.computerId ?? facts.computerId,
    runner: remote === null ? 'local' : `remote:${remote.computerId}`,
    queueDepth: facts.queueDepth,
    since: new Date(member.shown.since).toISOString(),
    ...sandboxOf(member),
    ...accountOf(member),
    ...facts.limits,
  };
}

/** Of a bot on another computer nothing is known. */
function sandboxOf({ live, spec, definition, remote }: Member): Pick<Agent, 'sandbox'> {
  const sandbox = live ? (remote === null ? spec?.sandbox : undefined) : definition?.sandbox;
  return sandbox == null ? {} : { sandbox: sandbox.mode };
}

function accountOf({ live, spec, definition, remote }: Member): Pick<Agent, 'account'> {
  const first = definition?.accounts[0];
  const account = live ? (remote === null ? spec?.account : undefined) : first === ownAccount ? undefined : first;
  return account === undefined ? {} : { account };
}

/** A live bot shows the harness it runs; others the first in their list. */
function bindingOf(bot: ResolvedBot | null, running: HarnessName | null): AgentBinding {
  const binding = bot?.binding ?? { type: 'terminal' as const };
  return running === null ? binding : { ...binding, type: 'terminal', harness: running };
}
