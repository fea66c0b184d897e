/** The first stage: checks a call against the contract (contracts/computer-use). Pure. */
import { type AnyToolset, type Member, memberOf } from '../../contracts/computer-use/members.ts';
import type { ToolsetCall } from '../../contracts/computer-use/toolset.ts';
import type { Place } from '../../programs/executor/protocol.ts';
import type { Input } from './coordinates.ts';

export interface ReadCall {
  readonly toolset: AnyToolset;
  readonly name: string;
  readonly member: Member;
  readonly input: Input;
}

/** Returns a sentence for an invalid call. */
export function readCall({ toolset, member: name, input, enable = [] }: ToolsetCall): ReadCall | string {
  const member = memberOf(toolset, name);
  if (member === null) return `The ${toolset} toolset has no member ${JSON.stringify(name)}.`;
  if (member.offByDefault === true && !enable.includes(name)) {
    return `${name} is off unless the call names it in enable.`;
  }
  const parsed = member.input.safeParse(input);
  if (parsed.success) return { toolset, name, member, input: withoutUndefined(parsed.data) };
  const [issue] = parsed.error.issues;
  const at = ['input', ...(issue?.path ?? []).map(String)].join('.');
  const keys = (issue as { keys?: readonly string[] } | undefined)?.keys;
  return keys === undefined ? `${at}: ${issue?.message}.` : `${at}: unknown field ${JSON.stringify(keys[0])}.`;
}

export function noToolset(toolset: AnyToolset, has: readonly AnyToolset[]): string {
  return `This computer has no ${toolset} toolset, only ${has.join(' and ')}.`;
}

/** Where it acts. */
export function placeOf({ toolset, browser_session_id }: ToolsetCall): Place {
  return toolset === 'browser'
    ? { kind: 'browser', session: browser_session_id ?? defaultSession }
    : { kind: 'desktop' };
}

/** The browser of callers that name none. */
export const defaultSession = 'default';

export function nameOfPlace(place: Place): string {
  return place.kind === 'desktop' ? 'desktop' : `browser:${place.session}`;
}

/** How long an action may take. Milliseconds. */
export function timeLimitOf({ input }: ReadCall): number {
  const seconds = typeof input.duration === 'number' ? input.duration : 0;
  return defaultLimitMs + seconds * 1000;
}

/** Ends calls on a page that never loads or a field that never takes the text. */
const defaultLimitMs = 30_000;

function withoutUndefined(input: Record<string, unknown>): Input {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}
