/** An approval: one question to a person, answered once, on whichever surface they answer first. Must not know who asks. */
import { z } from 'zod';
import { Time } from '../common/values.ts';

export const approvalSources = ['workflow', 'gate', 'executor', 'run', 'automation', 'harness'] as const;
export const approvalRisks = ['low', 'medium', 'high'] as const;
export const approvalDecisions = ['approve', 'reject'] as const;

export const ApprovalSource = z.enum(approvalSources);
export type ApprovalSource = z.infer<typeof ApprovalSource>;
export const ApprovalRisk = z.enum(approvalRisks);
export type ApprovalRisk = z.infer<typeof ApprovalRisk>;
export const ApprovalDecision = z.enum(approvalDecisions);
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** Made by the runtime: `apr_` and a ULID. */
export const ApprovalId = z.string().regex(/^apr_[0-9A-Za-z]{8,40}$/, 'an id such as apr_01J…');

export const Resolver = z.strictObject({
  user: z.string(),
  surface: z.string().max(40).meta({ description: 'Where it was answered: cli, browser, push, text, pane, …' }),
});
export type Resolver = z.infer<typeof Resolver>;

/** A person's note, shown to the asker. */
export const Note = z.string().max(2000);

/** Beside the command and part of the approved action: its folder and its variables. Separate, so that no command can imitate it. */
export const ApprovalDetail = z.strictObject({ name: z.string().min(1).max(40), text: z.string().max(200_000) });
export type ApprovalDetail = z.infer<typeof ApprovalDetail>;
const Details = z
  .array(ApprovalDetail)
  .max(8)
  .optional()
  .meta({ description: 'Part of what is approved, beside `summary`: where a command runs, its variables, its input.' });

/** The runtime's question. `summary` is complete: nobody approves a command of which they saw a part. */
export const ApprovalQuestion = z.strictObject({
  kind: z
    .string()
    .min(1)
    .max(60)
    .meta({ description: 'tool_call, file_change (its summary is a diff), permission, wait_gate, …' }),
  title: z.string().min(1).max(200),
  summary: z.string().max(200_000).meta({ description: 'The exact command or diff, in full.' }),
  details: Details,
  reason: z
    .string()
    .max(2000)
    .optional()
    .meta({ description: 'The reason that the requester gives. It is never part of what is approved.' }),
  risk: ApprovalRisk,
  source: ApprovalSource,
  agentId: z.string().max(200).nullable(),
  dagId: z.string().max(200).optional(),
  nodeId: z.string().max(200).optional(),
  runId: z.string().max(200).optional(),
  requestedAt: Time,
  expiresAt: Time,
});
export type ApprovalQuestion = z.infer<typeof ApprovalQuestion>;

/**
 * `pending` past its `expiresAt` is expired: it can no longer be answered. `resolved` with `decision` null was withdrawn by its asker, or answered
 * at its asker: `resolvedBy.surface` says where.
 */
export const Approval = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    state: z.enum(['pending', 'resolved']),
    decision: ApprovalDecision.nullable(),
    title: z.string(),
    summary: z.string(),
    details: Details,
    reason: z.string().optional(),
    risk: ApprovalRisk,
    source: ApprovalSource,
    agentId: z.string().nullable(),
    dagId: z.string().optional(),
    nodeId: z.string().optional(),
    runId: z.string().optional(),
    requestedAt: Time,
    expiresAt: Time,
    remainingMs: z.number().int().min(0).optional().meta({
      description:
        'While it waits: how long it can still be answered. Use this instead of `expiresAt` where clocks differ.',
    }),
    resolvedAt: Time.nullable(),
    resolvedBy: Resolver.nullable(),
    appliedAt: Time.nullable().meta({ description: 'When the computer that asked acted on the answer.' }),
    note: z.string().nullable(),
  })
  .meta({ id: 'Approval' });
export type Approval = z.infer<typeof Approval>;

/** Runtime → cloud. Whole each time, so that a repeated or late one changes nothing; `withdrawn` ends it. */
export const ApprovalReport = ApprovalQuestion.extend({
  botName: z.string().max(200).optional().meta({ description: 'What a notification calls the bot that asks.' }),
  engineId: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, 'the id of an engine'),
  ledgerId: z
    .string()
    .regex(/^\d{1,19}$/, 'the id of an event, a number')
    .meta({
      description: 'The ledger id before it: where a reader that reconnects with its event replays from.',
    }),
  remainingMs: z
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: 'How long it can still be answered when it is sent. A later value moves its end.' }),
  withdrawn: z.strictObject({ surface: z.string().max(40), at: Time }).optional(),
});
export type ApprovalReport = z.infer<typeof ApprovalReport>;

/** All that is approved as one text, for who knows no details: an older cloud. */
export const withDetails = ({ summary, details = [] }: Pick<ApprovalQuestion, 'summary' | 'details'>): string =>
  [summary, ...details.map(({ name, text }) => `${name}: ${text}`)].join('\n');

/** An approval by the reader's own clock: its remaining time counts from the moment of reading. */
export function byOwnClock<T extends Pick<Approval, 'requestedAt' | 'expiresAt' | 'remainingMs'>>(
  one: T,
  now: number,
): T {
  if (one.remainingMs === undefined) return one;
  const expires = now + one.remainingMs;
  const lasts = Date.parse(one.expiresAt) - Date.parse(one.requestedAt);
  return { ...one, requestedAt: new Date(expires - lasts).toISOString(), expiresAt: new Date(expires).toISOString() };
}

/** Cloud → runtime. */
export const ApprovalAnswerBody = z.strictObject({
  id: ApprovalId,
  decision: ApprovalDecision,
  note: Note.nullable(),
  resolvedBy: Resolver,
  at: Time,
});
export type ApprovalAnswerBody = z.infer<typeof ApprovalAnswerBody>;

/** `gone`: no asker waits for it any more (expired, withdrawn, never asked): nothing was done. */
export const AnswerOutcome = z.strictObject({ state: z.enum(['applied', 'gone']) });
export type AnswerOutcome = z.infer<typeof AnswerOutcome>;

/** Id of an approval's event in the factory stream. */
export const approvalEventId = (engineId: string, approvalId: string): string => `${engineId}~apr-${approvalId}`;

/** The parts of such an id; null for any other. */
export function parseApprovalEventId(id: string): { engineId: string; approvalId: string } | null {
  const match = /^(engine_[0-9A-Za-z]+)~apr-([A-Za-z0-9_-]+)$/.exec(id);
  return match === null ? null : { engineId: match[1]!, approvalId: match[2]! };
}
