/**
 * Gemini's `computerUse`: its functions on a grid of 0 to 999, each answered with a picture; `safety_decision` among the arguments asks for a
 * person. Pure.
 */
import type { Environment, FunctionResponse, Tool } from '@google/genai';
import { z } from 'zod';
import { maxBrowserWheelClicks, maxWheelClicks, type Toolset } from '../../../contracts/computer-use/members.ts';
import type { SafetyCheck, ToolResult } from '../model.ts';
import {
  chordOf,
  isRecord,
  issueOf,
  type ReadCall,
  type ReadContext,
  reading,
  screenOf,
  type ToolsetAction,
  wheelClicks,
} from './adapter.ts';
import { readFunction } from './functions.ts';

/** The name that a call of these functions and its result have with us. */
export const googleToolset = 'computer_use';
/** Members that its functions lack. */
export const googleExtras = ['list_tabs', 'new_tab', 'switch_tab', 'close_tab'];

export const googleTool = (toolsets: readonly Toolset[]): Tool => ({
  computerUse: {
    environment: (screenOf({ toolsets }) === 'browser' ? 'ENVIRONMENT_BROWSER' : 'ENVIRONMENT_DESKTOP') as Environment,
  },
});

const Grid = z.number().min(0).max(999);
const At = z.object({ x: Grid, y: Grid });
type At = z.infer<typeof At>;
const Direction = z.enum(['up', 'down', 'left', 'right']);
const Nothing = z.object({});
const functions = {
  open_web_browser: Nothing,
  click_at: At,
  hover_at: At,
  type_text_at: At.extend({
    text: z.string(),
    press_enter: z.boolean().nullish(),
    clear_before_typing: z.boolean().nullish(),
  }),
  scroll_document: z.object({ direction: Direction }),
  scroll_at: At.extend({ direction: Direction, magnitude: z.number().positive().nullish() }),
  wait_5_seconds: Nothing,
  go_back: Nothing,
  go_forward: Nothing,
  search: Nothing,
  navigate: z.object({ url: z.string().min(1) }),
  key_combination: z.object({ keys: z.string().min(1) }),
  drag_and_drop: At.extend({ destination_x: Grid, destination_y: Grid }),
} as const;
type Name = keyof typeof functions;

/** Where `search` begins. */
const searchPage = 'https://www.google.com';
const defaultMagnitude = 800;
const clickPixels = 100;
/** Scroll clicks for a whole page. */
const documentClicks = 5;

export const readGoogle: ReadCall = (call, context) => {
  if (call.toolset !== googleToolset) return readFunction(call, context);
  if (!Object.hasOwn(functions, call.name)) {
    return { problem: `There is no function "${call.name}". There are: ${Object.keys(functions).join(', ')}.` };
  }
  const parsed = functions[call.name as Name].safeParse(call.input);
  if (!parsed.success) {
    return { problem: `The arguments of ${call.name} cannot be read: ${issueOf(parsed.error)}` };
  }
  const actions = actionsOf(call.name as Name, parsed.data, context);
  if (actions === null) return { problem: `${call.name} needs a browser, and this computer session has none.` };
  return reading(actions, context, checksOf(call.id, call.input));
};

function checksOf(callId: string, input: unknown): SafetyCheck[] {
  const decision = isRecord(input) && isRecord(input.safety_decision) ? input.safety_decision : null;
  if (decision === null || ['regular', 'allowed', 'allow'].includes(String(decision.decision))) return [];
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return [{ id: callId, code: text(decision.decision), message: text(decision.explanation) }];
}

function actionsOf(name: Name, args: unknown, context: ReadContext): ToolsetAction[] | null {
  const toolset = screenOf(context);
  const page = toolset === 'browser';
  const act = (member: string, input: ToolsetAction['input'] = {}): ToolsetAction => ({ toolset, member, input });
  const at = (member: string, where: At, more: ToolsetAction['input'] = {}): ToolsetAction => ({
    toolset,
    member,
    input: { ...(page ? { target: target(where) } : { coordinate: pair(where) }), ...more },
    space: 'normalized_1000',
  });
  switch (name) {
    case 'open_web_browser':
      return [act('screenshot')];
    case 'click_at':
      return [at('left_click', args as At)];
    case 'hover_at':
      return [at(page ? 'hover' : 'mouse_move', args as At)];
    case 'type_text_at': {
      const typed = args as z.infer<(typeof functions)['type_text_at']>;
      return [
        at('left_click', typed),
        ...((typed.clear_before_typing ?? true)
          ? [act('key', { text: context.mac === true ? 'super+a' : 'ctrl+a' }), act('key', { text: 'BackSpace' })]
          : []),
        ...(typed.text === '' ? [] : [act('type', { text: typed.text })]),
        ...(typed.press_enter === true ? [act('key', { text: 'Return' })] : []),
      ];
    }
    case 'scroll_document': {
      const { direction } = args as z.infer<(typeof functions)['scroll_document']>;
      return [at('scroll', { x: 500, y: 500 }, { scroll_direction: direction, scroll_amount: documentClicks })];
    }
    case 'scroll_at': {
      const scroll = args as z.infer<(typeof functions)['scroll_at']>;
      const size = ['up', 'down'].includes(scroll.direction) ? context.frame.height : context.frame.width;
      const pixels = ((scroll.magnitude ?? defaultMagnitude) / 1000) * size;
      return wheelClicks(Math.ceil(pixels / clickPixels), page ? maxBrowserWheelClicks : maxWheelClicks).map((clicks) =>
        at('scroll', scroll, { scroll_direction: scroll.direction, scroll_amount: clicks }),
      );
    }
    case 'wait_5_seconds':
      return [act('wait', { duration: 5 })];
    case 'go_back':
    case 'go_forward': {
      const back = name === 'go_back';
      if (page) return [act('navigate', { url: back ? 'back' : 'forward' })];
      return [act('key', { text: back ? 'alt+Left' : 'alt+Right' })];
    }
    case 'search':
      return page ? [act('navigate', { url: searchPage })] : null;
    case 'navigate':
      return page ? [act('navigate', { url: (args as { url: string }).url })] : null;
    case 'key_combination':
      return [act('key', { text: chordOf((args as { keys: string }).keys.split('+')) })];
    case 'drag_and_drop': {
      const { x, y, destination_x, destination_y } = args as z.infer<(typeof functions)['drag_and_drop']>;
      const [from, to] = [
        { x, y },
        { x: destination_x, y: destination_y },
      ];
      const input = page
        ? { from: target(from), target: target(to) }
        : { start_coordinate: pair(from), coordinate: pair(to) };
      return [{ toolset, member: 'left_click_drag', input, space: 'normalized_1000' }];
    }
  }
}

const pair = ({ x, y }: At) => [x, y];
const target = ({ x, y }: At) => ({ type: 'coordinate', x, y });

/** With the picture inside the response, as its own functions want it; `url` of the page that is seen. */
export function googleResponse(result: ToolResult): Pick<FunctionResponse, 'response' | 'parts'> {
  const url = result.browserState?.tabs.find((tab) => tab.active)?.url;
  return {
    response: {
      ...(result.isError ? { error: result.text } : { output: result.text }),
      ...(url !== undefined && { url }),
      ...(result.acknowledged !== undefined && result.acknowledged.length > 0 && { safety_acknowledgement: 'true' }),
    },
    parts: (result.pictures ?? []).map(({ mediaType, data }) => ({ inlineData: { mimeType: mediaType, data } })),
  };
}
