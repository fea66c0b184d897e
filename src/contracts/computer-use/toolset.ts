/**
 * One call of a toolset and its answer: the same for a person's own computer and for a hosted one. Must not know who relays it.
 */
import { z } from 'zod';
import { ApprovalRisk } from '../approvals/approval.ts';
import { Id, Time } from '../common/values.ts';
import { AnyToolset } from './members.ts';

/** In a turn, calls after the first failed one are not executed. */
const TurnId = z.string().min(1).max(256);
const Size = z.number().int().min(1).max(16_384);

export const ToolsetCall = z
  .strictObject({
    toolset: AnyToolset,
    member: z.string().min(1).max(100),
    input: z.record(z.string(), z.unknown()).meta({ description: 'See the schema of the member.' }),
    run_id: Id.optional().meta({ description: 'Holds the control lease; without it, the key does.' }),
    turn_id: TurnId.optional().meta({ description: 'Calls of one turn stop after the first failed one.' }),
    call_index: z.number().int().min(0).max(10_000).optional().meta({
      description: 'With turn_id: a repeated call does not run a second time.',
    }),
    model_frame: z.strictObject({ width: Size, height: Size }).optional().meta({
      description: 'The image that the coordinates refer to, if it was scaled; default: the frame of `screen`.',
    }),
    coordinate_space: z.enum(['pixels', 'normalized_1000']).optional(),
    approval_grant: Id.optional().meta({ description: 'The id of an approval for exactly this call; valid once.' }),
    browser_session_id: Id.optional(),
    enable: z.array(z.string().min(1).max(100)).max(50).optional().meta({
      description: 'Members that are off unless named: file_upload, read_console, read_network, javascript_exec.',
    }),
  })
  .meta({ id: 'ToolsetCall' });
export type ToolsetCall = z.infer<typeof ToolsetCall>;

/** Codes of an invalid call. */
export const toolsetCodes = { toolset: 'invalid_toolset', '*': 'invalid_toolset_call' } as const;

export const ToolsetContent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image'),
    media_type: z.enum(['image/png', 'image/jpeg']),
    data: z.string().meta({ description: 'Base64.' }),
    width: z.number().int(),
    height: z.number().int(),
  }),
]);
export type ToolsetContent = z.infer<typeof ToolsetContent>;

export const BrowserState = z.strictObject({
  tabs: z.array(z.strictObject({ tab_id: z.string(), title: z.string(), url: z.string(), active: z.boolean() })),
  state_changes: z
    .array(
      z.looseObject({
        type: z.enum(['tab_opened', 'download_started', 'download_completed', 'download_failed']),
      }),
    )
    .optional(),
});
export type BrowserState = z.infer<typeof BrowserState>;

/** The unit of coordinates: the frame is what pictures show; the screen is `scale` times that. Pixels. */
export const Screen = z.strictObject({
  width: z.number().int(),
  height: z.number().int(),
  scale: z.number(),
  frame_width: z.number().int(),
  frame_height: z.number().int(),
});
export type Screen = z.infer<typeof Screen>;

export const ToolsetResult = z
  .strictObject({
    is_error: z.boolean(),
    content: z.array(ToolsetContent),
    browser_state: BrowserState.optional(),
    screen: Screen,
    exec: z
      .strictObject({
        exit_code: z.number().int().nullable(),
        truncated: z.boolean().meta({ description: 'Some output was dropped.' }),
      })
      .optional()
      .meta({ description: 'How a command ended; its stdout and stderr are the two texts of `content`.' }),
    file: z
      .strictObject({
        size: z.number().int(),
        next_offset: z.number().int().nullable().meta({ description: 'Null: the file ends here.' }),
      })
      .optional(),
    error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  })
  .meta({ id: 'ToolsetResult' });
export type ToolsetResult = z.infer<typeof ToolsetResult>;

/** Beside the error of a 409 `approval_required`. */
export const ToolsetApproval = z
  .strictObject({
    id: z.string(),
    action_hash: z.string(),
    member: z.string(),
    toolset: AnyToolset,
    risk: ApprovalRisk,
    confirmation_class: z.enum(['none', 'run', 'always']),
    approve_url: z.string(),
    approver: z.string().meta({ description: 'Who may answer: owner, or api_key.' }),
  })
  .meta({ id: 'ToolsetApproval' });
export type ToolsetApproval = z.infer<typeof ToolsetApproval>;

/** The right to act, at most one holder at a time; 60 s unless renewed. A person outranks a run. */
export const Control = z
  .strictObject({
    holder: z.strictObject({ kind: z.enum(['person', 'run', 'key']), id: z.string() }).nullable(),
    since: Time.nullable(),
    expires_at: Time.nullable(),
  })
  .meta({ id: 'Control' });
export type Control = z.infer<typeof Control>;
export const controlSeconds = 60;

/** Frames of the live view. */
export const viewEvents = {
  frame: z.strictObject({
    data: z.string().meta({ description: 'JPEG, base64.' }),
    width: z.number().int(),
    height: z.number().int(),
    at: Time,
  }),
  /** Where the pointer is, in the frame; what the current step is about to do, before it does it. */
  pointer: z.strictObject({ x: z.number(), y: z.number() }),
  next: z
    .strictObject({
      member: z.string(),
      words: z.string(),
      region: z.strictObject({ x: z.number(), y: z.number(), width: z.number(), height: z.number() }).nullable(),
    })
    .nullable(),
  control: Control,
  gone: z.strictObject({ code: z.string(), message: z.string() }),
} as const;
