/** What came of an action, as each vendor wants to read it. */
import { expect, test } from 'vitest';
import type { ToolResult } from '../../../../src/runtime-server/models/model.ts';
import { anthropicResult, anthropicToolset } from '../../../../src/runtime-server/models/toolsets/anthropic.ts';
import { googleResponse, googleTool } from '../../../../src/runtime-server/models/toolsets/google.ts';
import { computerOutput, unacknowledged } from '../../../../src/runtime-server/models/toolsets/openai.ts';

const picture = { mediaType: 'image/jpeg' as const, data: 'AAAA' };
const browserState = {
  tabs: [
    { tab_id: 't1', title: 'One', url: 'https://one.example/', active: false },
    { tab_id: 't2', title: 'Two', url: 'https://two.example/', active: true },
  ],
  state_changes: [{ type: 'tab_opened' as const, tab_id: 't2' }],
};
const result = (more: Partial<ToolResult>): ToolResult => ({
  callId: 'c1',
  name: 'left_click',
  text: '',
  isError: false,
  ...more,
});

test('Anthropic: text, pictures that may not be scaled in secret, and last the state of the browser', () => {
  expect(anthropicToolset('browser')).toEqual({ type: 'browser_toolset_20260801' });
  const whole = result({ toolset: 'browser', text: 'Clicked.', pictures: [picture], browserState });
  expect(anthropicResult(whole)).toEqual({
    type: 'tool_result',
    tool_use_id: 'c1',
    toolset_name: 'browser',
    is_error: false,
    content: [
      { type: 'text', text: 'Clicked.' },
      {
        type: 'image',
        source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' },
        transformations: { oversized_image: 'error' },
      },
      { type: 'browser_state', ...browserState },
    ],
  });
});

test('Anthropic: errors and the desktop have no state of a browser, a plain function keeps its plain text', () => {
  const failed = result({ toolset: 'browser', text: 'No such element.', isError: true, browserState });
  expect(anthropicResult(failed).content).toEqual([{ type: 'text', text: 'No such element.' }]);
  const desktop = result({ toolset: 'computer', text: 'Clicked.', browserState });
  expect(anthropicResult(desktop)).toMatchObject({ toolset_name: 'computer', content: [{ type: 'text' }] });
  expect(anthropicResult(result({ name: 'file.read', text: 'words' }))).toEqual({
    type: 'tool_result',
    tool_use_id: 'c1',
    is_error: false,
    content: 'words',
  });
});

test('OpenAI: one picture, the last one; what went wrong beside it; checks only where they were allowed', () => {
  const check = { id: 'sc', code: 'c', message: 'm' };
  const other = { ...picture, data: 'BBBB' };
  const done = result({ toolset: 'computer', text: 'Clicked.', pictures: [picture, other], acknowledged: [check] });
  expect(computerOutput(done)).toEqual([
    {
      type: 'computer_call_output',
      call_id: 'c1',
      output: { type: 'computer_screenshot', image_url: 'data:image/jpeg;base64,BBBB' },
      acknowledged_safety_checks: [check],
    },
  ]);
  const failed = result({ toolset: 'computer', text: 'Covered.', isError: true, pictures: [picture] });
  expect(computerOutput(failed)).toMatchObject([
    { type: 'computer_call_output' },
    { role: 'user', content: [{ type: 'input_text', text: 'Covered.' }] },
  ]);
  const [without] = computerOutput(result({ toolset: 'computer', text: 'An older picture was left out.' }));
  expect(without).toMatchObject({ output: { image_url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) } });
  expect(without).not.toHaveProperty('acknowledged_safety_checks');
  expect([done, failed, result({ toolset: 'computer', acknowledged: [] })].map(unacknowledged)).toEqual([
    false,
    false,
    true,
  ]);
});

test('Gemini: the address of the page, the picture inside the response, an acknowledgement only where it was allowed', () => {
  expect(googleTool(['browser', 'computer'])).toEqual({ computerUse: { environment: 'ENVIRONMENT_BROWSER' } });
  expect(googleTool(['computer'])).toEqual({ computerUse: { environment: 'ENVIRONMENT_DESKTOP' } });
  const check = { id: 'c1', code: 'require_confirmation', message: null };
  const done = result({ text: 'Clicked.', pictures: [picture], browserState, acknowledged: [check] });
  expect(googleResponse(done)).toEqual({
    response: { output: 'Clicked.', url: 'https://two.example/', safety_acknowledgement: 'true' },
    parts: [{ inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } }],
  });
  expect(googleResponse(result({ text: 'Denied.', isError: true, acknowledged: [] }))).toEqual({
    response: { error: 'Denied.' },
    parts: [],
  });
});
