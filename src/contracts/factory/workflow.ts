/** Templates, runs and projects. */
import { z } from 'zod';
import { Labels } from '../work-queue/task.ts';
import { TeamProblem } from './agent.ts';
import { gateKinds, NodeCard } from './node.ts';

export const TemplateId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'lowercase letters, digits, "_" and "-", at most 64');
export const StepId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'lowercase letters, digits, "_" and "-", at most 64');
export const ParamName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'letters, digits and "_", at most 64');
export const ProjectId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, "_" and "-", at most 64');

/** `shell`, `queue`, `role:<role>`, `bot:<slug>` or `bot:<slug>@<team>`, `harness:<name>`. */
export const Executor = z
  .string()
  .max(200)
  .regex(
    /^(shell|queue|(role|bot|harness):[A-Za-z0-9][A-Za-z0-9 ._@-]*)$/,
    '"shell", "queue", "role:<role>", "bot:<slug>" or "harness:<name>"',
  );

const title = z.string().min(1).max(200);
const text = z.string().max(20_000);
const command = z.string().min(1).max(20_000);
const minutes = z.number().positive().max(525_600);

/** When a step counts as stuck, as a template says it. Each 0 turns its own check off. */
const SilenceFile = z.strictObject({
  minutes: z.number().min(0).max(525_600).optional(),
  nudge: z.union([z.boolean(), z.string().min(1).max(2000)]).optional(),
  nudge_minutes: minutes.optional(),
  repeats: z.number().int().min(0).max(1000).optional(),
  tokens: z.number().int().min(0).max(1_000_000_000).optional(),
});
export type SilenceFile = z.infer<typeof SilenceFile>;

export const defaultMaxRounds = 3;
/** A template is written by hand or saved from a run; bytes. */
export const largestTemplate = 4 * 1024 * 1024;
export const maxSteps = 5000;

/** How much a run, a step or a campaign may use in all; what is absent has no limit. */
export const WorkBudget = z
  .strictObject({
    usd: z.number().positive().max(1_000_000).optional().meta({ description: 'Dollars.' }),
    tokens: z.number().int().positive().max(1_000_000_000_000).optional().meta({ description: 'Of all kinds.' }),
    minutes: minutes.optional().meta({ description: 'At work, without the time in which a person is waited for.' }),
  })
  .meta({ id: 'WorkBudget' });
export type WorkBudget = z.infer<typeof WorkBudget>;

/** The file format on disk, snake_case. */
export const TemplateFile = z
  .strictObject({
    id: TemplateId.optional(),
    name: z.string().min(1).max(200).optional(),
    description: text.optional(),
    params: z
      .array(
        z.strictObject({
          name: ParamName,
          description: text.optional(),
          default: z.string().max(20_000).optional(),
          required: z.boolean().optional(),
        }),
      )
      .max(100)
      .optional(),
    steps: z
      .array(
        z.strictObject({
          id: StepId,
          title: title.optional(),
          description: text.optional(),
          executor: Executor.optional(),
          command: command.optional(),
          in: StepId.optional(),
          labels: Labels.optional(),
          verify: z.strictObject({ command }).optional(),
          blocked_by: z.array(StepId).max(1000).optional(),
          needs_any: z.boolean().optional(),
          when: z.string().min(1).max(2000).optional(),
          on_fail: z.string().min(1).max(64).optional(),
          retry: z
            .strictObject({
              max: z.number().int().min(0).max(100),
              backoff_seconds: z.number().min(0).max(86_400).optional(),
            })
            .optional(),
          wait_gate: z
            .strictObject({
              kind: z.enum(gateKinds),
              description: text.optional(),
              until: z.iso.datetime({ offset: true }).optional(),
              minutes: minutes.optional(),
              command: command.optional(),
              every_seconds: z.number().min(1).max(86_400).optional(),
            })
            .nullable()
            .optional(),
          proof: z
            .array(z.strictObject({ line: z.string().min(1).max(500), required: z.boolean().optional() }))
            .max(50)
            .optional(),
          timeout_minutes: minutes.optional(),
          silence: SilenceFile.optional(),
          budget: WorkBudget.optional(),
        }),
      )
      .min(1)
      .max(maxSteps),
    silence: SilenceFile.optional(),
    budget: WorkBudget.optional(),
    max_rounds: z.number().int().min(1).max(100).optional(),
    closure: z
      .strictObject({ success: text.optional(), degraded: text.optional(), failed: text.optional() })
      .optional(),
  })
  .meta({ id: 'TemplateFile', title: 'Gantry template' });
export type TemplateFile = z.infer<typeof TemplateFile>;

export const TemplateStep = z.strictObject({
  id: z.string(),
  title: z.string(),
  description: z.string(),
  executor: z.string(),
  command: z.string().optional(),
  in: z
    .string()
    .optional()
    .meta({ description: 'An earlier step of a bot: the command runs in its worktree, if it has one.' }),
  labels: Labels.optional().meta({ description: 'With the executor "queue": what its worker must have.' }),
  verify: z.strictObject({ command: z.string() }).optional(),
  blockedBy: z.array(z.string()),
  needsAny: z
    .boolean()
    .meta({ description: 'Joins branches: once all parents have ended, one done parent is enough.' }),
  when: z.string().optional(),
  onFail: z.string().meta({ description: '"stop", "continue", "ask", or the id of an earlier step to go back to.' }),
  retry: z.strictObject({ max: z.number().int(), backoffSeconds: z.number() }),
  waitGate: z
    .strictObject({
      kind: z.enum(gateKinds),
      description: z.string().optional(),
      until: z.string().optional(),
      minutes: z.number().optional(),
      command: z.string().optional(),
      everySeconds: z.number().optional(),
    })
    .nullable(),
  proof: z.array(z.strictObject({ line: z.string(), required: z.boolean() })),
  timeoutMinutes: z.number().optional(),
  silence: z
    .strictObject({
      minutes: z.number().optional().meta({ description: 'Without any activity; then it needs a person. 0: never.' }),
      nudge: z
        .union([z.boolean(), z.string()])
        .optional()
        .meta({ description: 'Whether its bot gets one message before that; a string is the message.' }),
      nudgeMinutes: z.number().optional().meta({ description: 'When; half of `minutes` by default.' }),
      repeats: z
        .number()
        .int()
        .optional()
        .meta({ description: 'Times that a tool call or screen may come back. 0: any.' }),
      tokens: z.number().int().optional().meta({ description: 'Used without a changed file. 0: any.' }),
    })
    .optional(),
  budget: WorkBudget.optional(),
});
export type TemplateStep = z.infer<typeof TemplateStep>;

export const TemplateParam = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  default: z.string().optional(),
  required: z.boolean(),
});

export const Template = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    params: z.array(TemplateParam),
    steps: z.array(TemplateStep),
    maxRounds: z.number().int(),
    budget: WorkBudget.optional().meta({ description: 'Of each run, unless its start gives another.' }),
    closure: z.strictObject({
      success: z.string().optional(),
      degraded: z.string().optional(),
      failed: z.string().optional(),
    }),
  })
  .meta({ id: 'Template' });
export type Template = z.infer<typeof Template>;

export const TemplateSummary = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    steps: z.number().int(),
    params: z.number().int(),
    shipped: z.boolean().meta({ description: 'It comes with Gantry; one of the workspace can be removed.' }),
  })
  .meta({ id: 'TemplateSummary' });
export type TemplateSummary = z.infer<typeof TemplateSummary>;

export const InvalidTemplate = z.strictObject({ id: z.string(), problems: z.array(TeamProblem) });
export type InvalidTemplate = z.infer<typeof InvalidTemplate>;

export const TemplateRemoval = z.strictObject({
  id: z.string(),
  files: z.array(z.string()).meta({ description: 'Relative to the workspace.' }),
  shipped: z.boolean().meta({ description: 'Gantry ships one with this id, which is used again.' }),
  schedules: z.array(z.string()).meta({ description: 'Titles of schedules that start it.' }),
});
export type TemplateRemoval = z.infer<typeof TemplateRemoval>;

const SavedTemplate = z.strictObject({
  id: z.string(),
  name: z.string(),
  steps: z.number().int(),
  replaces: z.boolean(),
  fromRun: z.strictObject({ finished: z.boolean() }),
});
export type SavedTemplate = z.infer<typeof SavedTemplate>;
export const SaveTemplateRequest = z.strictObject({
  fromRun: z.string().min(1).max(200),
  id: TemplateId.optional(),
  force: z.boolean().optional(),
  dryRun: z.boolean().optional(),
});
export const SaveTemplateAnswer = z.union([
  z.strictObject({ saved: SavedTemplate }),
  z.strictObject({ dryRun: z.literal(true), plan: SavedTemplate }),
]);

export const RunRequest = z.strictObject({
  template: z.string().min(1).max(200),
  intent: z.string().min(1).max(20_000).optional(),
  params: z.record(z.string().min(1).max(64), z.string().max(20_000)).optional(),
  campaignId: z.string().min(1).max(200).optional(),
  projectId: ProjectId.optional(),
  team: z.string().min(1).max(64).optional(),
  preset: z.string().min(1).max(64).optional(),
  budget: WorkBudget.optional(),
  dryRun: z.boolean().optional(),
});
export type RunRequest = z.infer<typeof RunRequest>;

export const RunStarted = z.strictObject({ dagId: z.string(), campaignId: z.string(), nodes: z.array(NodeCard) });
export type RunStarted = z.infer<typeof RunStarted>;

export const RunPlan = z.strictObject({
  dryRun: z.literal(true),
  plan: z.strictObject({
    template: z.string(),
    campaignId: z.string(),
    nodes: z.array(
      z.strictObject({
        nodeId: z.string(),
        stepId: z.string(),
        title: z.string(),
        executor: z.string().meta({ description: 'Resolved: "shell" or the address of a bot.' }),
      }),
    ),
    records: z.array(z.string()),
  }),
});
export type RunPlan = z.infer<typeof RunPlan>;

export const runStatuses = ['running', 'needs_you', 'done', 'degraded', 'failed', 'cancelled'] as const;
export const RunStatus = z.enum(runStatuses);
export type RunStatus = z.infer<typeof RunStatus>;

export const FlowEdge = z.strictObject({ from: z.string(), to: z.string(), type: z.enum(['blocked_by', 'on_fail']) });

export const Flow = z
  .strictObject({
    dagId: z.string(),
    title: z.string(),
    campaignId: z.string(),
    status: RunStatus,
    nodes: z.array(NodeCard),
    edges: z
      .array(FlowEdge)
      .meta({ description: 'blocked_by: from the node that is waited for; on_fail: back to where the loop begins.' }),
  })
  .meta({ id: 'Flow' });
export type Flow = z.infer<typeof Flow>;

const ms = z.number().int();
export const StepTimes = z.strictObject({
  nodeId: z.string(),
  title: z.string(),
  workingMs: ms.meta({ description: 'How long it was worked on, in ms; what is still going counts until now.' }),
  checkingMs: ms.meta({ description: 'How long its result was checked.' }),
  needsYouMs: ms.meta({ description: 'How long it waited for a person.' }),
  waitingMs: ms.meta({ description: 'How long it was ready and waited to be taken.' }),
});
export type StepTimes = z.infer<typeof StepTimes>;

export const RunTimes = z
  .strictObject({ dagId: z.string(), title: z.string(), steps: z.array(StepTimes) })
  .meta({ id: 'RunTimes' });
export type RunTimes = z.infer<typeof RunTimes>;

export const Project = z
  .strictObject({ id: z.string(), name: z.string(), workerBot: z.string().nullable() })
  .meta({ id: 'Project' });
export type Project = z.infer<typeof Project>;
