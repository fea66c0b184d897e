/** An action's description, in events and for the checks of `direct`. Must not know stores. */
import { AppError } from '../../../contracts/common/errors.ts';
import { memberOf, type Toolset } from '../../../contracts/computer-use/members.ts';
import type { RunAction, TargetScope } from '../../../contracts/computer-use/run.ts';
import type { ToolsetResult } from '../../../contracts/computer-use/toolset.ts';

/** Typed text may be a password, and only the gate knows into which field it goes: events give only its length. */
const typed: Readonly<Record<string, readonly string[]>> = { type: ['text'], form_input: ['value'] };

export function shownInput(member: string, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const hidden = typed[member] ?? [];
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      hidden.includes(name) && typeof value !== 'boolean' ? `•••• (${[...String(value)].length} characters)` : value,
    ]),
  );
}

/** Whether the picture changes by it. */
export const acts = (toolset: Toolset, member: string): boolean => memberOf(toolset, member)?.class !== 'observe';

export const allowedIn = (scope: TargetScope, toolset: Toolset): boolean =>
  scope === 'auto' || (scope === 'browser') === (toolset === 'browser');

/** Checks everything that can be known before the start: a run must not end in its middle over a misspelt word. */
export function checkActions(actions: readonly RunAction[], scope: TargetScope): void {
  for (const [index, { toolset, member, input = {} }] of actions.entries()) {
    const problem = problemOf(toolset, member, input, scope);
    if (problem !== null) {
      throw new AppError(
        'usage',
        `actions.${index}: ${problem}`,
        'GET /api/v1/computers/this-device/toolset/schema?toolset=browser, or =computer, says what each member takes.',
        {
          wireCode: 'invalid_request',
        },
      );
    }
  }
}

function problemOf(toolset: Toolset, member: string, input: object, scope: TargetScope): string | null {
  const known = memberOf(toolset, member);
  if (known === null) return `${toolset} has no member ${JSON.stringify(member.slice(0, 100))}.`;
  if (!allowedIn(scope, toolset)) return `${toolset} is not in the target scope "${scope}".`;
  const parsed = known.input.safeParse(input);
  if (parsed.success) return null;
  const issue = parsed.error.issues[0]!;
  return `${[member, ...issue.path.map(String)].join('.')}: ${issue.message}.`;
}

const maxTextLength = 20_000;

export function textOf(result: ToolsetResult): string {
  return result.content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .filter((text) => text !== '')
    .join('\n')
    .slice(0, maxTextLength);
}

export function pictureOf(result: ToolsetResult) {
  return result.content.find((part) => part.type === 'image') ?? null;
}

/** The error of an action, for an event and for the run. */
export function errorOf(result: ToolsetResult): { code: string; message: string } {
  return result.error ?? { code: 'action_failed', message: textOf(result) || 'The action failed.' };
}
