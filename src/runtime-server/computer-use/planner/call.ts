/**
 * One call of a model: read into actions, carried out one after the other, and answered with one result. A call may be several actions
 * (a vendor's batch, typing into a field); after the first that failed or was denied the others are not done. Must not know wires.
 */
import type { ToolCall, ToolResult } from '../../models/model.ts';
import type { Reading, ToolsetAction } from '../../models/toolsets/index.ts';
import type { CallAnswer, Picture, PlannedCall } from '../runs/planner-port.ts';

interface CallDeps {
  /** Each result has to show the screen. */
  readonly showsScreen: boolean;
  perform(call: PlannedCall): Promise<CallAnswer>;
}

interface Carried {
  readonly result: ToolResult;
  /** It was an action that could have been carried out. */
  readonly wasAction: boolean;
  /** Pixels of the last picture; null where unknown. */
  readonly frame: { readonly width: number; readonly height: number } | null;
}

export async function carryOut(deps: CallDeps, call: ToolCall, read: Reading): Promise<Carried> {
  const base = {
    callId: call.id,
    name: call.name,
    ...(call.toolset !== undefined && { toolset: call.toolset }),
  };
  if ('problem' in read) {
    return { result: { ...base, text: read.problem, isError: true }, wasAction: false, frame: null };
  }
  const texts: string[] = [];
  const pictures: Picture[] = [];
  let last: Extract<CallAnswer, { kind: 'done' }> | null = null;
  let after: Picture | null = null;
  let failed = false;
  let denied = false;
  let wasAction = false;
  for (const [index, action] of read.actions.entries()) {
    const answer = await deps.perform(planned(action, index === 0 ? read : null));
    if (answer.kind === 'denied') {
      texts.push(`This was not allowed and did not run: ${answer.message}`);
      failed = true;
      denied = true;
      wasAction = true;
      break;
    }
    const { result } = answer;
    last = answer;
    after = answer.after;
    for (const part of result.content) {
      if (part.type === 'text') texts.push(part.text);
      else pictures.push(part);
    }
    wasAction ||= result.error?.code !== 'invalid_toolset_call';
    if (!result.is_error) continue;
    const said = result.error?.message;
    if (said !== undefined && !texts.includes(said)) texts.push(said);
    const left = read.actions.slice(index + 1).map((one) => one.member);
    if (left.length > 0) texts.push(`Skipped after that: ${left.join(', ')}.`);
    failed = true;
    break;
  }
  if (deps.showsScreen && pictures.length === 0) {
    const shown = after ?? (await look(deps, read.actions));
    if (shown !== null) pictures.push(shown);
  }
  const state = last?.result.browser_state;
  const screen = last?.result.screen;
  // A vendor's own form has a place for tabs; of functions it is text.
  if (state !== undefined && call.toolset === undefined) texts.push(`Tabs: ${JSON.stringify(state.tabs)}`);
  const text = texts.filter((part) => part !== '').join('\n');
  return {
    result: {
      ...base,
      text: text === '' && pictures.length === 0 ? 'Done.' : text,
      isError: failed,
      ...(pictures.length > 0 && {
        pictures: pictures.map(({ media_type, data }) => ({ mediaType: media_type, data })),
      }),
      ...(state !== undefined && { browserState: state }),
      ...(read.checks.length > 0 && { acknowledged: denied ? [] : read.checks }),
    },
    wasAction,
    frame: screen?.frame_width ? { width: screen.frame_width, height: screen.frame_height } : null,
  };
}

/** With the checks that the vendor wants confirmed: one question for the whole call. Its text does not repeat typed text. */
function planned(action: ToolsetAction, first: Extract<Reading, { actions: unknown }> | null): PlannedCall {
  const { toolset, member, input, space } = action;
  const call = { toolset, member, input, ...(space !== undefined && { coordinateSpace: space }) };
  if (first === null || first.checks.length === 0) return call;
  const words = first.checks.map((check) => check.message ?? check.code ?? 'no reason given').join(' ');
  const more = first.actions.slice(1).map((one) => one.member);
  return {
    ...call,
    confirm: `The model’s vendor asks you to confirm this: ${words}${more.length === 0 ? '' : ` It includes: ${more.join(', ')}.`}`,
  };
}

async function look(deps: CallDeps, actions: readonly ToolsetAction[]): Promise<Picture | null> {
  const toolset = actions[0]?.toolset ?? 'browser';
  const answer = await deps.perform({ toolset, member: 'screenshot', input: {} });
  if (answer.kind === 'denied') return null;
  return answer.result.content.find((part) => part.type === 'image') ?? null;
}
