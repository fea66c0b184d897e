/** Conversations of bots that Gantry speaks with directly, without a terminal: hosted bots and agents over ACP. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { area, base, errors, people, readers } from './route-parts.ts';

export const entryKinds = ['user', 'text', 'thought', 'tool', 'plan', 'question', 'note'] as const;
export const toolStatuses = ['pending', 'running', 'done', 'failed', 'unknown'] as const;

/** A file as a tool call changed it. */
export const ConversationDiff = z.strictObject({
  path: z.string(),
  before: z.string().nullable().meta({ description: 'Null: the file is new.' }),
  after: z.string(),
  cut: z.literal(true).optional().meta({ description: 'The texts were too long to keep whole.' }),
});
export type ConversationDiff = z.infer<typeof ConversationDiff>;

export const ConversationTool = z.strictObject({
  title: z.string(),
  kind: z.string().meta({ description: 'read, edit, execute, fetch, …; for a hosted bot the name of its tool.' }),
  status: z
    .enum(toolStatuses)
    .meta({ description: 'unknown: the agent or Gantry ended before the call was reported to end.' }),
  input: z.string().optional(),
  output: z.string().optional(),
  diffs: z.array(ConversationDiff).optional(),
  places: z
    .array(z.string())
    .optional()
    .meta({ description: 'Files that it works on, with a line where one is known.' }),
});
export type ConversationTool = z.infer<typeof ConversationTool>;

export const ConversationEntry = z
  .strictObject({
    seq: z.number().int().meta({ description: 'Its place in the conversation; an entry that grows keeps it.' }),
    rev: z.number().int().meta({ description: 'Grows with each change of any entry: ask for what came after it.' }),
    at: Time,
    kind: z.enum(entryKinds),
    text: z.string().optional(),
    tool: ConversationTool.optional(),
    plan: z
      .array(z.strictObject({ text: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) }))
      .optional(),
    question: z
      .strictObject({
        approvalId: z.string().nullable().meta({ description: 'Null: a rule of the policy answered it.' }),
        answer: z.enum(['open', 'approved', 'rejected', 'withdrawn']),
      })
      .optional(),
  })
  .meta({ id: 'ConversationEntry' });
export type ConversationEntry = z.infer<typeof ConversationEntry>;

export const ConversationModes = z.strictObject({
  current: z.string(),
  available: z.array(z.strictObject({ id: z.string(), name: z.string(), description: z.string().nullable() })),
});
export type ConversationModes = z.infer<typeof ConversationModes>;

const agentParam = {
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'agent', list: 'gantry agents ls' },
} as const;

export const agentConversation = defineRoute({
  op: 'agentConversation',
  area,
  errors,
  summary:
    'Reads the conversation of a bot without a terminal: the newest entries, what changed after a rev, or what lies before a seq; not_found for a bot in a terminal',
  method: 'GET',
  path: `${base}/agents/:id/conversation`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  query: z.strictObject({
    after: z.coerce.number().int().min(0).optional().meta({ description: 'Entries that changed after this rev.' }),
    before: z.coerce.number().int().min(1).optional().meta({ description: 'Older entries than this seq.' }),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(500)
      .optional()
      .meta({ description: 'How many, 1 to 500 (default 200).' }),
  }),
  answers: {
    200: z.strictObject({
      entries: z.array(ConversationEntry).meta({ description: 'In the order of seq; with after in the order of rev.' }),
      rev: z.number().int().meta({ description: 'For the next question with after.' }),
      more: z.boolean().meta({ description: 'There are older entries; with after: more changes.' }),
      modes: ConversationModes.nullable().meta({ description: 'In which the agent can work; null: it names none.' }),
    }),
  },
});

export const setAgentMode = defineRoute({
  op: 'setAgentMode',
  area,
  errors,
  summary: 'Sets the mode in which an ACP agent works, one of those that it names; not_found where it names none',
  method: 'POST',
  path: `${base}/agents/:id/mode`,
  auth: people,
  scope: 'bots:act',
  ...agentParam,
  body: z.strictObject({ mode: z.string().min(1).max(200) }),
  answers: { 200: ConversationModes },
});

export const conversationRoutes = [agentConversation, setAgentMode] as const;
