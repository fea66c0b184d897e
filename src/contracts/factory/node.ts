/** Nodes of a run, their pages and the verbs that move them. */
import { z } from 'zod';
import { Approval } from '../approvals/approval.ts';
import { Time } from '../common/values.ts';
import { bindingTypes } from './agent.ts';
import { Delivery } from './delivery.ts';
import { NodeLease } from './node-lease.ts';

export const nodeStatuses = [
  'new',
  'ready',
  'working',
  'checking',
  'needs_you',
  'done',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
] as const;
export const NodeStatus = z.enum(nodeStatuses);
export type NodeStatus = z.infer<typeof NodeStatus>;

/** A node is "open" in every other status. */
export const closedNodeStatuses = ['done', 'failed', 'skipped', 'cancelled'] as const;

/** Why a node has its status: a closed list, so that a screen can describe it. */
export const nodeCauses = {
  created: 'waits for its parents',
  parents_done: 'its parents are done',
  gate: 'waits at its gate',
  gate_open: 'its gate is open',
  gate_rejected: 'a person rejected it at its gate',
  when_false: 'its condition is not met',
  parent_skipped: 'a step that it needs was skipped',
  parent_failed: 'a step that it needs failed',
  run_stopped: 'the run was stopped by a failed step',
  assigned: 'given to its bot',
  queued: 'waits in the queue of its bot',
  started: 'its command is running',
  awaits_worker: 'waits for a worker of the queue',
  at_worker: 'a worker of the queue runs its command',
  delivered: 'its bot has it',
  claimed: 'taken',
  resumed: 'its bot continues it',
  verifying: 'its verify command is running',
  reviewing: 'another bot is checking it',
  proven: 'proven',
  accepted: 'accepted by a person',
  reported: 'reported done by its bot; no proof is required',
  proof_to_accept: 'a person must accept its proof: only its executor could check it',
  verify_failed: 'its verify command failed',
  rejected: 'the check rejected it',
  exit_status: 'its command failed',
  cannot_start: 'its command could not be started',
  output_too_large: 'its command printed too much',
  timed_out: 'it timed out',
  worker_failed: 'no worker could carry it out',
  changes_refused: 'the changes of its worker were not taken',
  gave_up: 'its executor gave up',
  delivery_failed: 'its bot could not be reached',
  unconfirmed: 'whether its bot received it is unknown',
  budget: 'its bot has reached its spending limit',
  usage_limit: 'its bot has reached a usage limit',
  over_budget: 'its budget of money, tokens or time is used up',
  retry: 'will be retried',
  retried: 'retried by a person',
  loop: 'a later step failed: repeats from here',
  rounds_used_up: 'the rounds of the template are used up',
  ask: 'it failed, and its template asks a person',
  stalled: 'its bot has been silent: it may be stuck',
  no_progress: 'its bot repeats itself without progress',
  interrupted: 'Gantry stopped while it worked; how far it came is unknown',
  skipped_by_person: 'skipped by a person',
  failed_by_person: 'given up by a person',
  cancelling: 'is being cancelled',
  cancelled: 'the run was cancelled',
  cancel_deadline: 'did not end before the cancel deadline: check it',
} as const;
export type NodeCause = keyof typeof nodeCauses;
export const NodeCauseName = z.enum(Object.keys(nodeCauses) as [NodeCause, ...NodeCause[]]);

export const gateKinds = ['manual', 'timer', 'command'] as const;

export const NodeGate = z.strictObject({
  kind: z.enum(gateKinds),
  description: z.string(),
  state: z.enum(['closed', 'waiting', 'open']),
  until: Time.nullable().meta({ description: 'When it opens automatically; null unless a timer has started.' }),
});

/** How the reasons of a step name its task in the work queue. */
export const namedTask = (id: string): string => `task ${id}`;

/** The task that a reason names; null if it names none. */
export function taskNamedIn(detail: string | null): string | null {
  return /\btask (task_[0-9A-Z]+)/.exec(detail ?? '')?.[1] ?? null;
}

export const NodeCard = z
  .strictObject({
    dagId: z.string(),
    nodeId: z.string(),
    stepId: z.string(),
    title: z.string(),
    status: NodeStatus,
    cause: NodeCauseName.nullable(),
    detail: z.string().nullable().meta({ description: 'The cause with its values, in words.' }),
    assignee: z.string().nullable().meta({
      description: 'Address of the bot; "shell" for a command; "queue" for a command of a worker; a person as "owner".',
    }),
    bindingType: z.enum(bindingTypes).nullable(),
    proof: z.strictObject({
      proven: z.number().int(),
      total: z
        .number()
        .int()
        .meta({ description: 'Lines of its proof; once it is done, without optional ones that nobody proved.' }),
    }),
    blockedBy: z.array(z.string()).meta({ description: 'Ids of the nodes that it waits or waited for.' }),
    needsYou: z.boolean(),
    depth: z.number().int(),
    gate: NodeGate.nullable(),
    attempt: z.number().int().meta({ description: 'How often it was started; 0 before the first time.' }),
  })
  .meta({ id: 'NodeCard' });
export type NodeCard = z.infer<typeof NodeCard>;

export const Proof = z.strictObject({
  line: z.string(),
  path: z
    .string()
    .nullable()
    .meta({ description: 'Path of the file in the workspace; null for a verdict without a file.' }),
  receiptId: z.string().meta({ description: 'Ledger id.' }),
  outcome: z.enum(['proven', 'rejected']),
  at: Time,
});
export type Proof = z.infer<typeof Proof>;

export const NodeFile = z.strictObject({
  receiptId: z.string(),
  name: z.string(),
  path: z.string(),
  mime: z.string(),
  size: z.number().int().meta({ description: 'Bytes.' }),
  sha256: z.string(),
});

export const NodeMove = z.strictObject({
  at: Time,
  status: NodeStatus,
  cause: NodeCauseName,
  detail: z.string().nullable(),
  attempt: z.number().int(),
  actor: z.string(),
  receiptId: z.string(),
});

export const NodePage = z
  .strictObject({
    card: NodeCard,
    spec: z.string().meta({ description: 'Markdown: what to do, and what proves it.' }),
    progressMd: z.string(),
    proofMd: z.string(),
    proofs: z.array(Proof),
    files: z.array(NodeFile),
    deliveries: z.array(Delivery),
    approval: Approval.nullable().meta({ description: 'The current or latest approval for it.' }),
    history: z.array(NodeMove),
    lease: NodeLease.nullable().meta({ description: 'While a bot or a watched command is at work on it.' }),
    output: z.string().nullable().meta({ description: 'What later steps read as step.<id>.output.' }),
  })
  .meta({ id: 'NodePage' });
export type NodePage = z.infer<typeof NodePage>;

export const NodePlan = z.strictObject({
  dryRun: z.literal(true),
  plan: z.strictObject({
    dagId: z.string(),
    nodeId: z.string(),
    from: NodeStatus,
    to: NodeStatus,
    cause: NodeCauseName.nullable(),
    records: z.array(z.string()),
  }),
});
export type NodePlan = z.infer<typeof NodePlan>;

const dryRun = z.boolean().optional();
const note = z.string().min(1).max(20_000);
/** Bodies of the node verbs. `retry`, `skip` and `gate` are for people. */
export const nodeVerbs = {
  claim: z.strictObject({ dryRun }),
  progress: z.strictObject({ text: note, dryRun }),
  done: z.strictObject({
    output: z.string().max(16_384).optional().meta({ description: 'Output for later steps.' }),
    note: note.optional().meta({ description: 'Why it is accepted.' }),
    dryRun,
  }),
  fail: z.strictObject({ reason: note, dryRun }),
  retry: z.strictObject({ dryRun }),
  skip: z.strictObject({ reason: note.optional().meta({ description: 'Why.' }), dryRun }),
  gate: z.strictObject({ note: note.optional().meta({ description: 'Why.' }), dryRun }),
} as const;
