/** Anthropic's `computer_toolset_20260801` and `browser_toolset_20260801`: our members are exactly theirs, so a call is taken unchanged. Pure. */
import type { ImageBlockParam, ToolResultBlockParam, ToolUnion } from '@anthropic-ai/sdk/resources/messages/messages';
import { type Toolset, toolsets } from '../../../contracts/computer-use/members.ts';
import type { Picture, ToolResult } from '../model.ts';
import { isRecord, type ReadCall, reading } from './adapter.ts';

export const anthropicToolset = (toolset: Toolset): ToolUnion => ({ type: `${toolset}_toolset_20260801` });

export const readAnthropic: ReadCall = (call, context) => {
  const toolset = toolsets.find((name) => name === call.toolset);
  if (call.problem !== undefined) return { problem: call.problem };
  if (toolset === undefined) return { problem: `There is no tool "${call.name}".` };
  if (!isRecord(call.input)) return { problem: `The input of ${call.name} is not an object.` };
  return reading([{ toolset, member: call.name, input: call.input }], context);
};

/** Their result is the state of the browser and nothing else. */
const stateAlone: readonly string[] = ['list_tabs', 'new_tab', 'switch_tab', 'close_tab'];

export function anthropicResult(result: ToolResult): ToolResultBlockParam {
  const { toolset, pictures = [] } = result;
  const block = { type: 'tool_result' as const, tool_use_id: result.callId, is_error: result.isError };
  if (toolset === undefined && pictures.length === 0) return { ...block, content: result.text };
  const state =
    toolset === 'browser' && !result.isError && result.browserState !== undefined
      ? [{ type: 'browser_state' as const, ...stateOf(result.browserState) }]
      : [];
  const shown = state.length > 0 && stateAlone.includes(result.name);
  return {
    ...block,
    ...(toolset !== undefined && { toolset_name: toolset }),
    content: [
      ...(shown || result.text === '' ? [] : [{ type: 'text' as const, text: result.text }]),
      ...(shown ? [] : pictures.map(picture)),
      ...state,
    ],
  };
}

/** A picture that the service would scale down silently shifts every coordinate: it is refused instead. */
const picture = ({ mediaType, data }: Picture): ImageBlockParam => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
  transformations: { oversized_image: 'error' },
});

type Block = NonNullable<Exclude<ToolResultBlockParam['content'], string>>[number];
type StateBlock = Extract<Block, { type: 'browser_state' }>;

function stateOf({ tabs, state_changes }: NonNullable<ToolResult['browserState']>): Omit<StateBlock, 'type'> {
  return {
    tabs: tabs.map((tab) => ({ ...tab })),
    // State changes use the contract's fields, which are theirs.
    ...(state_changes !== undefined && { state_changes: state_changes as unknown as StateBlock['state_changes'] }),
  };
}
