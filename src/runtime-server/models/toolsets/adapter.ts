/**
 * The shared part of the adapters of the vendors' toolsets: turns a model's call into actions of our own members, or into a sentence that says why
 * it is invalid. Pure. Must not know wires, gates or runs.
 */
import type { z } from 'zod';
import { memberOf, membersOf, type Toolset } from '../../../contracts/computer-use/members.ts';
import type { SafetyCheck, ToolCall } from '../model.ts';

export interface ToolsetAction {
  readonly toolset: Toolset;
  readonly member: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The unit of its coordinates; absent: pixels of the picture that the model saw. */
  readonly space?: 'normalized_1000';
}

/** Several actions of one call are done in order, and answered with one result. */
export type Reading =
  | { readonly actions: readonly ToolsetAction[]; readonly checks: readonly SafetyCheck[] }
  | { readonly problem: string };

export interface ReadContext {
  /** The toolsets that the model was offered. */
  readonly toolsets: readonly Toolset[];
  /** Pixels of the last picture. */
  readonly frame: { readonly width: number; readonly height: number };
  /** The target is macOS, whose chords differ. */
  readonly mac?: boolean;
}

export type ReadCall = (call: ToolCall, context: ReadContext) => Reading;

/** The problem of the first action that the contract does not take, or null. */
function problemOf(actions: readonly ToolsetAction[], { toolsets }: Pick<ReadContext, 'toolsets'>): string | null {
  for (const { toolset, member, input } of actions) {
    const known = memberOf(toolset, member);
    if (known === null || !toolsets.includes(toolset) || known.offByDefault === true) {
      return `There is no "${member}" in ${toolset}. It has: ${offered(toolset).join(', ')}.`;
    }
    const parsed = known.input.safeParse(input);
    if (!parsed.success) {
      return `The input of ${member} cannot be read: ${issueOf(parsed.error)}`;
    }
  }
  return null;
}

/** The first problem, in one line. */
export function issueOf({ issues: [first] }: z.ZodError): string {
  const where = first?.path.join('.') ?? '';
  return `${where === '' ? '' : `${where}: `}${first?.message ?? 'it has another form'}.`;
}

export function reading(
  actions: readonly ToolsetAction[],
  context: ReadContext,
  checks: readonly SafetyCheck[] = [],
): Reading {
  const problem = problemOf(actions, context);
  return problem === null ? { actions, checks } : { problem };
}

/** Members that a model is offered, in the order of the contract. */
export const offered = (toolset: Toolset): string[] =>
  Object.entries(membersOf[toolset])
    .filter(([, member]) => member.offByDefault !== true)
    .map(([name]) => name);

/** Which of the two a vendor's form that knows only one screen means. */
export const screenOf = ({ toolsets }: Pick<ReadContext, 'toolsets'>): Toolset =>
  toolsets.includes('browser') ? 'browser' : 'computer';

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Names of keys as the vendors' models write them, in xdotool's spelling, which the members have. */
const keyNames: Readonly<Record<string, string>> = {
  ' ': 'space',
  '+': 'plus',
  arrowdown: 'Down',
  arrowleft: 'Left',
  arrowright: 'Right',
  arrowup: 'Up',
  backspace: 'BackSpace',
  cmd: 'super',
  command: 'super',
  control: 'ctrl',
  ctrl: 'ctrl',
  del: 'Delete',
  delete: 'Delete',
  down: 'Down',
  end: 'End',
  enter: 'Return',
  esc: 'Escape',
  escape: 'Escape',
  home: 'Home',
  insert: 'Insert',
  left: 'Left',
  meta: 'super',
  option: 'alt',
  pagedown: 'Page_Down',
  page_down: 'Page_Down',
  pageup: 'Page_Up',
  page_up: 'Page_Up',
  return: 'Return',
  right: 'Right',
  space: 'space',
  super: 'super',
  tab: 'Tab',
  up: 'Up',
  win: 'super',
};
const modifiers: readonly string[] = ['ctrl', 'alt', 'shift', 'super'];

function keyName(name: string): string {
  const lower = name.toLowerCase();
  const known = keyNames[lower];
  if (known !== undefined) return known;
  return name.length > 1 && (modifiers.includes(lower) || /^f\d{1,2}$/.test(lower)) ? lower : name;
}

/** `["CTRL", "a"]` as `ctrl+a`. */
export const chordOf = (keys: readonly string[]): string => keys.map(keyName).join('+');

/** Clicks of a wheel; one call takes at most `max`. */
export function wheelClicks(clicks: number, max: number): number[] {
  const calls: number[] = [];
  for (let left = clicks; left > 0; left -= max) calls.push(Math.min(left, max));
  return calls;
}
