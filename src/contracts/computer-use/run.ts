/** A computer-use run, its session and its events. This area's wire names are in snake_case. Must not know routes. */
import { z } from 'zod';
import { Id, Time } from '../common/values.ts';
import { Toolset } from './members.ts';
import { ToolsetApproval } from './toolset.ts';

export const runModes = ['direct', 'intent', 'assist'] as const;
export const RunMode = z.enum(runModes);
export type RunMode = z.infer<typeof RunMode>;

export const runStatuses = [
  'queued',
  'running',
  'paused',
  'awaiting_approval',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
  'interrupted',
  'expired',
] as const;
export const RunStatus = z.enum(runStatuses);
export type RunStatus = z.infer<typeof RunStatus>;
export const endedStatuses = [
  'completed',
  'failed',
  'cancelled',
  'interrupted',
  'expired',
] as const satisfies readonly RunStatus[];

export const TargetScope = z.enum(['auto', 'browser', 'desktop']);
export type TargetScope = z.infer<typeof TargetScope>;

/** One action of `direct`: a member call. */
export const RunAction = z.strictObject({
  toolset: Toolset,
  member: z.string().min(1).max(100),
  input: z.record(z.string(), z.unknown()).optional(),
});
export type RunAction = z.infer<typeof RunAction>;
export const maxActions = 500;
export const defaultSteps = 20;
export const maxSteps = 500;
/** In `direct`, a step is an action. Milliseconds. */
export const defaultTimeoutMs = 10 * 60_000;
export const maxTimeoutMs = 24 * 3600_000;
/** A cancelled run is ended by force after this. */
export const cancelSeconds = 15;

export const RunOptions = z.strictObject({
  max_steps: z.number().int().min(1).max(maxSteps).optional(),
  approvals: z.enum(['never', 'on_risk', 'always']).optional().meta({
    description: 'on_risk: what the policy asks about; always: every acting step; never: what would ask is denied.',
  }),
  timeout_ms: z.number().int().min(1000).max(maxTimeoutMs).optional().meta({
    description: 'Time spent waiting for a person, or paused, does not count.',
  }),
  max_cost_usd: z.number().positive().max(10_000).optional(),
  model: z.string().min(1).max(200).optional(),
  record: z.boolean().optional().meta({ description: 'Records a video and, for a browser, a trace.' }),
});
export type RunOptions = z.infer<typeof RunOptions>;

const Task = z.string().min(1).max(20_000);
const Metadata = z.record(z.string(), z.unknown());

export const ExecuteRequest = z
  .strictObject({
    mode: RunMode,
    run_id: Id.optional().meta({ description: 'Chosen by the caller; an existing run is returned unchanged.' }),
    session_id: Id.optional(),
    computer_id: Id.optional(),
    target_scope: TargetScope.optional(),
    task: Task.optional().meta({ description: 'For intent and assist.' }),
    actions: z.array(RunAction).min(1).max(maxActions).optional().meta({ description: 'For direct.' }),
    options: RunOptions.optional(),
    context: z.string().max(20_000).optional().meta({ description: 'What a model should know besides the task.' }),
    metadata: Metadata.optional(),
  })
  .meta({ id: 'ExecuteRequest' });
export type ExecuteRequest = z.infer<typeof ExecuteRequest>;

export const Artifact = z
  .strictObject({
    artifact_id: z.string(),
    kind: z.enum(['screenshot', 'video', 'trace', 'download']),
    media_type: z.string(),
    size: z.number().int().meta({ description: 'Bytes.' }),
    step: z.number().int().nullable(),
    created_at: Time,
  })
  .meta({ id: 'ComputerUseArtifact' });
export type Artifact = z.infer<typeof Artifact>;

export const Run = z
  .strictObject({
    run_id: z.string(),
    session_id: z.string(),
    mode: RunMode,
    status: RunStatus,
    task: z.string().nullable(),
    target_scope: TargetScope,
    steps: z.number().int(),
    max_steps: z.number().int(),
    result: z
      .strictObject({
        text: z
          .string()
          .nullable()
          .meta({ description: 'The final text of the model, or the results of the actions.' }),
        stop_reason: z.enum([
          'done',
          'max_steps',
          'timeout',
          'max_cost',
          'refused',
          'denied',
          'error',
          'cancelled',
          'forced',
          'restart',
        ]),
      })
      .nullable(),
    error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    approval: ToolsetApproval.extend({ requested_at: Time, words: z.string() }).nullable(),
    pause: z
      .strictObject({ reason: z.enum(['person', 'takeover', 'control_elsewhere', 'budget']), since: Time })
      .nullable(),
    artifacts: z.array(Artifact),
    usage: z.strictObject({
      model: z.string().nullable(),
      input_tokens: z.number().int(),
      output_tokens: z.number().int(),
      cost_usd: z.number().nullable(),
      actions: z.number().int(),
    }),
    metadata: Metadata,
    created_at: Time,
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
  })
  .meta({ id: 'ComputerUseRun' });
export type Run = z.infer<typeof Run>;

export const runEventTypes = [
  'run.started',
  'run.paused',
  'run.resumed',
  'run.cancelling',
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.interrupted',
  'run.expired',
  'step.started',
  'step.completed',
  'model.response',
  'action.started',
  'action.completed',
  'action.failed',
  'action.denied',
  'approval.required',
  'approval.resolved',
  'control.taken',
  'control.released',
  'artifact.created',
  'artifact.dropped',
  'budget.warning',
  'run.ended',
] as const;
export const RunEventType = z.enum(runEventTypes);
export type RunEventType = z.infer<typeof RunEventType>;

/** `index` has no gap and begins at 0; it is the `id` on the stream. The last one of a run is `run.ended`. */
export const RunEvent = z
  .strictObject({
    index: z.number().int().min(0),
    event_type: RunEventType,
    run_id: z.string(),
    at: Time,
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'ComputerUseEvent' });
export type RunEvent = z.infer<typeof RunEvent>;

export const CreateSession = z.strictObject({
  target_scope: TargetScope.optional(),
  computer_id: Id.optional(),
  metadata: Metadata.optional(),
});

export const Session = z
  .strictObject({
    session_id: z.string(),
    status: z.enum(['open', 'closed']),
    target_scope: TargetScope,
    browser: z.strictObject({ url: z.string(), title: z.string() }).nullable(),
    metadata: Metadata,
    created_at: Time,
    last_used_at: Time,
    run_ids: z.array(z.string()),
  })
  .meta({ id: 'ComputerUseSession' });
export type Session = z.infer<typeof Session>;

export const ControlBody = z.strictObject({
  actor_id: z.string().max(200).optional(),
  comment: z.string().max(2000).optional(),
});

export const ApproveBody = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  approval_id: Id.optional(),
  comment: z.string().max(2000).optional(),
});
