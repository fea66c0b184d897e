/**
 * OpenAI's `computer` tool (Responses): one call is a batch of actions in pixels of one screen, answered with one picture. Pure.
 */
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { maxBrowserWheelClicks, maxWheelClicks } from '../../../contracts/computer-use/members.ts';
import type { Picture, SafetyCheck, ToolResult } from '../model.ts';
import { chordOf, issueOf, type ReadCall, reading, screenOf, type ToolsetAction, wheelClicks } from './adapter.ts';
import { readFunction } from './functions.ts';

/** The name that a call of this tool and its result have with us. */
export const openAiToolset = 'computer';
/** Members that a browser screen without its frame needs in addition. */
export const openAiExtras = ['navigate', 'list_tabs', 'new_tab', 'switch_tab', 'close_tab'];

const At = z.object({ x: z.number(), y: z.number() });
type At = z.infer<typeof At>;
const keys = z.array(z.string().min(1)).nullish();
const Action = z.discriminatedUnion('type', [
  At.extend({ type: z.literal('click'), button: z.enum(['left', 'right', 'wheel', 'back', 'forward']), keys }),
  At.extend({ type: z.literal('double_click'), keys }),
  z.object({ type: z.literal('drag'), path: z.array(At).min(2), keys }),
  z.object({ type: z.literal('keypress'), keys: z.array(z.string().min(1)).min(1) }),
  At.extend({ type: z.literal('move'), keys }),
  z.object({ type: z.literal('screenshot') }),
  At.extend({ type: z.literal('scroll'), scroll_x: z.number(), scroll_y: z.number(), keys }),
  z.object({ type: z.literal('type'), text: z.string() }),
  z.object({ type: z.literal('wait') }),
]);
type Action = z.infer<typeof Action>;
/** A batch; older models send one `action`. */
const Call = z.object({
  actions: z.array(z.unknown()).nullish(),
  action: z.unknown().optional(),
  pending_safety_checks: z
    .array(z.object({ id: z.string(), code: z.string().nullish(), message: z.string().nullish() }))
    .nullish(),
});

const clickPixels = 100;
/** `wait` names no time. Seconds. */
const waitSeconds = 2;

export const readOpenAi: ReadCall = (call, context) => {
  if (call.toolset !== openAiToolset) return readFunction(call, context);
  const parsed = Call.safeParse(call.input);
  if (!parsed.success) return { problem: `The call of computer cannot be read: ${issueOf(parsed.error)}` };
  const { actions, action, pending_safety_checks } = parsed.data;
  const asked = actions ?? (action === undefined || action === null ? [] : [action]);
  if (asked.length === 0) return { problem: 'The call of computer has no actions.' };
  const read: ToolsetAction[] = [];
  for (const [index, one] of asked.entries()) {
    const action = Action.safeParse(one);
    if (!action.success) {
      return { problem: `Action ${index + 1} of computer cannot be read: ${issueOf(action.error)}` };
    }
    const done = screenOf(context) === 'browser' ? onPage(action.data) : onScreen(action.data);
    if ('problem' in done) return done;
    read.push(...done.actions);
  }
  const checks = (pending_safety_checks ?? []).map(
    ({ id, code, message }): SafetyCheck => ({
      id,
      code: code ?? null,
      message: message ?? null,
    }),
  );
  return reading(read, context, checks);
};

type Done = { readonly actions: ToolsetAction[] } | { readonly problem: string };

function onScreen(action: Action): Done {
  const toolset = 'computer' as const;
  const one = (member: string, input: ToolsetAction['input'] = {}): Done => ({ actions: [{ toolset, member, input }] });
  const held = 'keys' in action && action.keys?.length ? { text: chordOf(action.keys) } : {};
  switch (action.type) {
    case 'click': {
      if (action.button === 'back' || action.button === 'forward') {
        return one('key', { text: action.button === 'back' ? 'alt+Left' : 'alt+Right' });
      }
      return one(buttons[action.button], { coordinate: [action.x, action.y], ...held });
    }
    case 'double_click':
      return one('double_click', { coordinate: [action.x, action.y], ...held });
    case 'drag': {
      const [from, ...rest] = action.path as [At, ...At[]];
      const [to] = rest;
      if (rest.length === 1 && to !== undefined) {
        return one('left_click_drag', { start_coordinate: pair(from), coordinate: pair(to), ...held });
      }
      if (action.keys?.length) return { problem: 'A drag over several points takes no held keys.' };
      return {
        actions: [
          { toolset, member: 'mouse_move', input: { coordinate: pair(from) } },
          { toolset, member: 'left_mouse_down', input: {} },
          ...rest.map((at) => ({ toolset, member: 'mouse_move', input: { coordinate: pair(at) } })),
          { toolset, member: 'left_mouse_up', input: {} },
        ],
      };
    }
    case 'keypress':
      return one('key', { text: chordOf(action.keys) });
    case 'move':
      return action.keys?.length ? noKeys('move') : one('mouse_move', { coordinate: [action.x, action.y] });
    case 'scroll':
      return scrolled(action, maxWheelClicks, (scroll_direction, scroll_amount) => ({
        toolset,
        member: 'scroll',
        input: { coordinate: [action.x, action.y], scroll_direction, scroll_amount, ...held },
      }));
    case 'type':
      return one('type', { text: action.text });
    case 'screenshot':
      return one('screenshot');
    case 'wait':
      return one('wait', { duration: waitSeconds });
  }
}

function onPage(action: Action): Done {
  const toolset = 'browser' as const;
  const one = (member: string, input: ToolsetAction['input'] = {}): Done => ({ actions: [{ toolset, member, input }] });
  const held = 'keys' in action && action.keys?.length ? { modifiers: chordOf(action.keys) } : {};
  switch (action.type) {
    case 'click':
      if (action.button === 'back' || action.button === 'forward') return one('navigate', { url: action.button });
      return one(buttons[action.button], { target: target(action), ...held });
    case 'double_click':
      return one('double_click', { target: target(action), ...held });
    case 'drag': {
      if (action.keys?.length) return noKeys('drag');
      const [from, ...rest] = action.path as [At, ...At[]];
      const to = rest.at(-1) ?? from;
      if (rest.length === 1) return one('left_click_drag', { from: target(from), target: target(to) });
      return {
        actions: [
          { toolset, member: 'left_mouse_down', input: { target: target(from) } },
          ...rest.map((at) => ({ toolset, member: 'mouse_move', input: { target: target(at) } })),
          { toolset, member: 'left_mouse_up', input: { target: target(to) } },
        ],
      };
    }
    case 'keypress':
      return one('key', { text: chordOf(action.keys) });
    case 'move':
      return action.keys?.length ? noKeys('move') : one('mouse_move', { target: target(action) });
    case 'scroll':
      if (action.keys?.length) return noKeys('scroll');
      return scrolled(action, maxBrowserWheelClicks, (scroll_direction, scroll_amount) => ({
        toolset,
        member: 'scroll',
        input: { target: target(action), scroll_direction, scroll_amount },
      }));
    case 'type':
      return one('type', { text: action.text });
    case 'screenshot':
      return one('screenshot');
    case 'wait':
      return one('wait', { duration: waitSeconds });
  }
}

const buttons = { left: 'left_click', right: 'right_click', wheel: 'middle_click' } as const;
const pair = ({ x, y }: At) => [x, y];
const target = ({ x, y }: At) => ({ type: 'coordinate', x, y });
const noKeys = (type: string): Done => ({ problem: `${type} takes no held keys here.` });

function scrolled(
  { scroll_x, scroll_y }: { readonly scroll_x: number; readonly scroll_y: number },
  max: number,
  make: (direction: string, clicks: number) => ToolsetAction,
): Done {
  const axis = (pixels: number, back: string, on: string) =>
    wheelClicks(Math.ceil(Math.abs(pixels) / clickPixels), max).map((clicks) => make(pixels < 0 ? back : on, clicks));
  const actions = [...axis(scroll_y, 'up', 'down'), ...axis(scroll_x, 'left', 'right')];
  return actions.length === 0 ? { problem: 'The scroll has no distance.' } : { actions };
}

/** This wire requires a picture in every result: a single pixel replaces a missing one, or an old one that was left out. */
const point: Picture = {
  mediaType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
};
export const dataUrl = ({ mediaType, data }: Picture): string => `data:${mediaType};base64,${data}`;

export function computerOutput(result: ToolResult): ResponseInputItem[] {
  const checks = result.acknowledged ?? [];
  return [
    {
      type: 'computer_call_output',
      call_id: result.callId,
      output: { type: 'computer_screenshot', image_url: dataUrl(result.pictures?.at(-1) ?? point) },
      ...(checks.length > 0 && { acknowledged_safety_checks: checks.map((check) => ({ ...check })) }),
    },
    ...(result.isError || result.pictures === undefined ? said(result) : []),
  ];
}

/** A call whose checks were not allowed leaves the conversation: an output without its acknowledgement would be refused. */
export const unacknowledged = (result: ToolResult): boolean =>
  result.toolset === openAiToolset && result.acknowledged?.length === 0;

export const said = (result: ToolResult): ResponseInputItem[] =>
  result.text === '' ? [] : [{ role: 'user', content: [{ type: 'input_text', text: result.text }] }];
