/**
 * The one table of states: wire word → the word a person reads, its icon and its tone. Every status on every screen comes
 * from here. Must not know where a status is shown.
 */
import {
  Ban,
  CalendarClock,
  Check,
  CheckCheck,
  Circle,
  CircleDashed,
  CircleDot,
  CircleHelp,
  CirclePause,
  CircleX,
  Clock,
  CornerDownRight,
  GitBranch,
  GitMerge,
  Layers,
  Loader,
  Lock,
  LogOut,
  Moon,
  OctagonPause,
  Package,
  Plug,
  Power,
  PowerOff,
  Radio,
  RefreshCw,
  Send,
  Ticket,
  Trash2,
} from 'lucide-react';
import { memo } from 'react';
import type { Approval } from '../../contracts/approvals/approval.ts';
import type { RunStatus as ComputerUseStatus } from '../../contracts/computer-use/run.ts';
import type { JobStatus } from '../../contracts/connectors/rule.ts';
import type { Subscription, TrailEvent } from '../../contracts/connectors/subscription.ts';
import type { EdgeSubscription } from '../../contracts/edge/routes.ts';
import type { AgentState } from '../../contracts/factory/agent.ts';
import type { ConversationTool } from '../../contracts/factory/conversation-routes.ts';
import type { DeliveryState } from '../../contracts/factory/delivery.ts';
import type { NodeCause, NodeStatus } from '../../contracts/factory/node.ts';
import type { QuickOutcome } from '../../contracts/factory/quick-run-routes.ts';
import type { Occurrence } from '../../contracts/factory/schedules-routes.ts';
import type { RunStatus } from '../../contracts/factory/workflow.ts';
import type { HostedComputer, HostedStatus } from '../../contracts/hosted-computers/computer.ts';
import type { ServerState } from '../../contracts/tool-server/servers.ts';
import type { QueueWorker, Task } from '../../contracts/work-queue/task.ts';
import { looks, type StatusLook, type Tone } from './looks.ts';

export type { StatusLook };

type ConnectionState = 'linking' | 'linked' | 'reconnecting' | 'off';

export const agentStatus: Readonly<Record<AgentState, StatusLook>> = {
  offline: { word: 'Offline', icon: PowerOff, tone: 'faint' },
  starting: looks.starting,
  idle: { word: 'Idle', icon: Circle, tone: 'muted' },
  working: looks.working,
  needs_you: looks.needsYou,
  checking: looks.checking,
  done: { word: 'Done', icon: Check, tone: 'proven' },
  blocked: { word: 'Blocked', icon: OctagonPause, tone: 'need' },
  failed: looks.failed,
};

export const deliveryStatus: Readonly<Record<DeliveryState, StatusLook>> = {
  accepted: { word: 'Sending', icon: Loader, tone: 'muted' },
  queued: looks.queued,
  verified: { word: 'Verified', icon: CheckCheck, tone: 'proven' },
  unconfirmed: { word: 'Unconfirmed', icon: CircleHelp, tone: 'need' },
  best_effort: { word: 'Best effort', icon: Send, tone: 'muted' },
  failed: looks.failed,
};

export const nodeStatus: Readonly<Record<NodeStatus, StatusLook>> = {
  new: { word: 'New', icon: CircleDashed, tone: 'faint' },
  ready: { word: 'Ready', icon: CircleDashed, tone: 'muted' },
  working: looks.working,
  checking: looks.checking,
  needs_you: looks.needsYou,
  done: looks.provenDone,
  failed: looks.failed,
  blocked: { word: 'Blocked', icon: Lock, tone: 'muted' },
  skipped: { word: 'Skipped', icon: CornerDownRight, tone: 'faint' },
  cancelled: looks.cancelled,
};

/** Of one tool call in a conversation. */
export const callStatus: Readonly<Record<ConversationTool['status'], StatusLook>> = {
  pending: looks.waits,
  running: looks.running,
  done: looks.saidDone,
  failed: looks.failed,
  unknown: { word: 'Unknown', icon: CircleHelp, tone: 'muted' },
};

/** A step that its bot reported done, and that nobody checked, is done and not proven. Nobody works on one that waits for a worker. */
export function nodeLook({ status, cause }: { status: NodeStatus; cause: NodeCause | null }): StatusLook {
  if (status === 'done' && cause === 'reported') return looks.saidDone;
  return status === 'working' && cause === 'awaits_worker' ? looks.queued : nodeStatus[status];
}

const runStatus: Readonly<Record<RunStatus, StatusLook>> = {
  running: looks.running,
  needs_you: looks.needsYou,
  done: looks.provenDone,
  degraded: { word: 'Partly done', icon: CircleDot, tone: 'muted' },
  failed: looks.failed,
  cancelled: looks.cancelled,
};

/** Of a run with these steps, as far as they are known. */
export const runLook = (
  status: RunStatus,
  nodes: readonly { readonly status: NodeStatus; readonly cause: NodeCause | null }[],
): StatusLook =>
  status === 'done' && nodes.some((node) => nodeLook(node) === looks.saidDone) ? looks.saidDone : runStatus[status];

/** What became of the work of a bot that was started from a prompt. */
export const outcomeStatus: Readonly<Record<QuickOutcome, StatusLook>> = {
  merged: { word: 'Merged', icon: GitMerge, tone: 'muted' },
  kept: { word: 'Kept', icon: GitBranch, tone: 'muted' },
  discarded: { word: 'Discarded', icon: Trash2, tone: 'faint' },
};

/** Of one time of a schedule. */
export const occurrenceStatus: Readonly<Record<Occurrence['state'], StatusLook>> = {
  started: { word: 'Started', icon: Check, tone: 'muted' },
  missed: { word: 'Missed', icon: CalendarClock, tone: 'need' },
  skipped: { word: 'Skipped', icon: CornerDownRight, tone: 'faint' },
  failed: looks.failed,
};

/** `pending` past its time is expired; `resolved` without a decision was withdrawn or answered where it was asked. */
export function approvalStatus(approval: Approval, now: number): StatusLook {
  if (approval.state === 'pending') {
    return Date.parse(approval.expiresAt) > now ? looks.waitsForYou : { word: 'Expired', icon: Clock, tone: 'faint' };
  }
  if (approval.decision === 'approve') return { word: 'Approved', icon: Check, tone: 'muted' };
  if (approval.decision === 'reject') return { word: 'Rejected', icon: Ban, tone: 'muted' };
  return { word: 'Withdrawn', icon: CornerDownRight, tone: 'faint' };
}

/** Of the work queue. Succeeded is what its worker says, which proves nothing. */
export function taskStatus(task: Task, now: number): StatusLook {
  switch (task.status) {
    case 'queued':
      return task.not_before !== null && Date.parse(task.not_before) > now
        ? { word: 'Scheduled', icon: CalendarClock, tone: 'faint' }
        : looks.queued;
    case 'leased':
    case 'running':
      if (task.stop_requested) return looks.stopping;
      return task.status === 'leased' ? { word: 'Leased', icon: CircleDashed, tone: 'muted' } : looks.running;
    case 'succeeded':
      return { word: 'Succeeded', icon: Check, tone: 'muted' };
    case 'failed':
      return looks.failed;
    case 'cancelled':
      return looks.cancelled;
  }
}

export function workerStatus({
  draining,
  holding,
  polling,
}: Pick<QueueWorker, 'draining' | 'holding' | 'polling'>): StatusLook {
  if (draining) {
    return holding > 0
      ? { word: 'Draining', icon: LogOut, tone: 'muted' }
      : { word: 'Drained', icon: Check, tone: 'faint' };
  }
  if (holding > 0) return looks.working;
  if (polling) return { word: 'Polling', icon: Radio, tone: 'muted' };
  return { word: 'Silent', icon: PowerOff, tone: 'faint' };
}

/** A tool server: attached by the person, or Gantry's own. */
export const serverStatus: Readonly<Record<ServerState | 'own', StatusLook>> = {
  own: { word: 'Built in', icon: Package, tone: 'muted' },
  connected: { word: 'Connected', icon: Plug, tone: 'muted' },
  connecting: { word: 'Connecting', icon: Loader, tone: 'muted' },
  needs_reauth: looks.needsSignIn,
  error: looks.error,
  disabled: { word: 'Disabled', icon: PowerOff, tone: 'faint' },
};

/** A subscription to events of a connector. */
export const subscriptionStatus: Readonly<Record<Subscription['status'], StatusLook>> = {
  pending: { word: 'Setting up', icon: Loader, tone: 'muted' },
  active: looks.listening,
  error: looks.error,
  needs_reauth: looks.needsSignIn,
};

/** What became of one event. */
export const trailStatus: Readonly<Record<TrailEvent['status'], StatusLook>> = {
  waiting: looks.waits,
  ticket: { word: 'Ticket', icon: Ticket, tone: 'muted' },
  dead: { word: 'Refused', icon: CircleX, tone: 'fail' },
  expired: { word: 'Expired', icon: CircleX, tone: 'fail' },
  gap: { word: 'Gap', icon: CircleDashed, tone: 'muted' },
};

/** A job of an automation rule. Done is what the bot says of itself, which proves nothing. */
export const jobStatus: Readonly<Record<JobStatus, StatusLook>> = {
  batching: { word: 'Batching', icon: Layers, tone: 'muted' },
  awaiting_approval: looks.waitsForYou,
  queued: looks.queued,
  running: looks.running,
  stopping: looks.stopping,
  completed: looks.saidDone,
  failed: looks.failed,
  interrupted: looks.interrupted,
  denied: { word: 'Denied', icon: Ban, tone: 'faint' },
  cancelled: looks.cancelled,
};

/** A subscription of somebody else's app to the person's events. */
export const edgeStatus: Readonly<Record<EdgeSubscription['status'], StatusLook>> = {
  active: looks.listening,
  failing: { word: 'Not responding', icon: CircleX, tone: 'fail' },
  expired: { word: 'Expired', icon: Clock, tone: 'faint' },
};

/** A run of computer use. Done is what the run says of itself, which proves nothing. */
export const computerUseStatus: Readonly<Record<ComputerUseStatus, StatusLook>> = {
  queued: looks.queued,
  running: looks.running,
  paused: { word: 'Paused', icon: CirclePause, tone: 'muted' },
  awaiting_approval: looks.needsYou,
  cancelling: looks.stopping,
  completed: looks.saidDone,
  failed: looks.failed,
  cancelled: { word: 'Stopped', icon: Ban, tone: 'faint' },
  interrupted: looks.interrupted,
  expired: { word: 'Timed out', icon: Clock, tone: 'faint' },
};

const hostedLooks: Readonly<Record<HostedStatus, StatusLook>> = {
  provisioning: { word: 'Creating', icon: Loader, tone: 'muted' },
  starting: looks.starting,
  running: { word: 'Running', icon: Power, tone: 'muted' },
  stopping: { word: 'Stopping', icon: Loader, tone: 'muted' },
  stopped: { word: 'Stopped', icon: PowerOff, tone: 'faint' },
  deleted: { word: 'Deleted', icon: Ban, tone: 'faint' },
  error: looks.error,
};

export function hostedStatus({ status, sleeping }: Pick<HostedComputer, 'status' | 'sleeping'>): StatusLook {
  return status === 'running' && sleeping ? { word: 'Asleep', icon: Moon, tone: 'faint' } : hostedLooks[status];
}

/** What something was when it was seen last: nothing turns and nothing calls for anybody. */
export function lastKnown(look: StatusLook): StatusLook {
  return { word: look.word, icon: look.icon === 'ring' ? CircleDashed : look.icon, tone: 'faint' };
}

/** A computer: reached over its link, or not. */
export const computerStatus: Readonly<Record<'linked' | 'away', StatusLook>> = {
  linked: looks.linked,
  away: { word: 'Away', icon: PowerOff, tone: 'faint' },
};

export const connectionStatus: Readonly<Record<ConnectionState, StatusLook>> = {
  linking: { word: 'Connecting', icon: Loader, tone: 'muted' },
  linked: looks.linked,
  reconnecting: { word: 'Reconnecting', icon: RefreshCw, tone: 'need' },
  off: { word: 'Off', icon: PowerOff, tone: 'faint' },
};

const toneClass: Readonly<Record<Tone, string>> = {
  faint: 'text-faint',
  muted: 'text-muted',
  accent: 'text-accent',
  need: 'text-need',
  fail: 'text-fail',
  proven: 'text-proven',
};

function Ring() {
  return (
    <svg viewBox="0 0 16 16" className="ring-turn size-3.5 shrink-0" aria-hidden="true">
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeOpacity="0.28" strokeWidth="2" />
      <path d="M8 2a6 6 0 0 1 6 6" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}

export function StatusIcon({ look }: { look: StatusLook }) {
  if (look.icon === 'ring') return <Ring />;
  const Icon = look.icon;
  return <Icon className="size-3.5 shrink-0" strokeWidth={2} aria-hidden="true" />;
}

/** Icon, word and colour. `wire`, the status on the wire, is in the tooltip. */
export const Status = memo(function Status({
  look,
  wire,
  iconOnly = false,
}: {
  look: StatusLook;
  wire: string;
  iconOnly?: boolean;
}) {
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${toneClass[look.tone]}`} title={wire}>
      <StatusIcon look={look} />
      <span className={iconOnly ? 'sr-only' : undefined}>{look.word}</span>
    </span>
  );
});
