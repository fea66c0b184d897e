/** Conversations over the vendors' own toolsets, as their SDKs read them: whole answers here, streams where the planner is tested. */
import Anthropic from '@anthropic-ai/sdk';
import { type Environment, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inOrder, type ModelReply, text, tools } from './script.ts';
import { type ModelServer, startModelServer } from './server.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());

const point = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';

test('Anthropic: calls of two toolsets carry their names, results with pictures are counted, no beta is asked for', async () => {
  const calls: ModelReply = tools(
    { toolset: 'browser', name: 'navigate', input: { url: 'example.org' } },
    { toolset: 'computer', name: 'screenshot', input: {} },
  );
  server.script(inOrder(calls, text('Done.')));
  const client = new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0 });
  const base = {
    model: 'claude-x',
    max_tokens: 100,
    tools: [{ type: 'browser_toolset_20260801' as const }, { type: 'computer_toolset_20260801' as const }],
  };
  const first = await client.messages.create({ ...base, messages: [{ role: 'user', content: 'Go.' }] });
  expect(first).toMatchObject({
    stop_reason: 'tool_use',
    content: [
      { type: 'tool_use', toolset_name: 'browser', name: 'navigate' },
      { type: 'tool_use', toolset_name: 'computer', name: 'screenshot' },
    ],
  });
  const results = first.content.flatMap((block) =>
    block.type === 'tool_use'
      ? [
          {
            type: 'tool_result' as const,
            tool_use_id: block.id,
            toolset_name: block.toolset_name ?? null,
            content: [
              {
                type: 'image' as const,
                source: { type: 'base64' as const, media_type: 'image/png' as const, data: point },
              },
            ],
          },
        ]
      : [],
  );
  const second = await client.messages.create({
    ...base,
    messages: [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ],
  });
  expect(second).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'Done.' }] });
  const asked = server.requests.slice(-2);
  expect(asked[0]).toMatchObject({ tools: ['browser_toolset_20260801', 'computer_toolset_20260801'], pictures: 0 });
  expect(asked[0]?.headers).not.toHaveProperty('anthropic-beta');
  expect(asked[1]).toMatchObject({ pictures: 2, toolResults: [{}, {}] });
});

test('OpenAI Responses: a batch with a safety check arrives, and its output with the acknowledgement is counted', async () => {
  const check = { id: 'sc_1', code: 'malicious_instructions', message: 'Look twice.' };
  const call = {
    toolset: 'computer',
    name: 'computer',
    input: { actions: [{ type: 'screenshot' }, { type: 'wait' }], pending_safety_checks: [check] },
  };
  server.script(inOrder(tools(call), text('Done.')));
  const client = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
  const base = { model: 'gpt-x', tools: [{ type: 'computer' as const }] };
  const first = await client.responses.create({ ...base, input: [{ role: 'user', content: 'Go.' }] });
  const [item] = first.output;
  expect(item).toMatchObject({
    type: 'computer_call',
    actions: [{ type: 'screenshot' }, {}],
    pending_safety_checks: [check],
  });
  if (item?.type !== 'computer_call') throw new Error('another item');
  const second = await client.responses.create({
    ...base,
    input: [
      { role: 'user', content: 'Go.' },
      item,
      {
        type: 'computer_call_output',
        call_id: item.call_id,
        output: { type: 'computer_screenshot', image_url: `data:image/png;base64,${point}` },
        acknowledged_safety_checks: [check],
      },
    ],
  });
  expect(second.output_text).toBe('Done.');
  expect(server.requests.at(-1)).toMatchObject({
    pictures: 1,
    toolResults: [{ callId: item.call_id }],
    tools: ['computer'],
  });
});

test('Gemini: its own functions arrive with a decision about safety, and their pictures are counted', async () => {
  const args = { x: 1, y: 2, safety_decision: { decision: 'require_confirmation', explanation: 'Look twice.' } };
  server.script(inOrder(tools({ name: 'click_at', input: args }), text('Done.')));
  const client = new GoogleGenAI({ apiKey: 'k', vertexai: false, httpOptions: { baseUrl: server.url } });
  const config = { tools: [{ computerUse: { environment: 'ENVIRONMENT_BROWSER' as Environment } }] };
  const user = { role: 'user', parts: [{ text: 'Go.' }] };
  const first = await client.models.generateContent({ model: 'gemini-x', contents: [user], config });
  const [call] = first.functionCalls ?? [];
  expect(call).toMatchObject({ name: 'click_at', args });
  const response = {
    functionResponse: {
      ...(call?.id !== undefined && { id: call.id }),
      name: 'click_at',
      response: { safety_acknowledgement: 'true' },
      parts: [{ inlineData: { mimeType: 'image/png', data: point } }],
    },
  };
  const said = first.candidates?.[0]?.content ?? { parts: [] };
  const contents = [user, said, { role: 'user', parts: [response] }];
  const second = await client.models.generateContent({ model: 'gemini-x', contents, config });
  expect(second.text).toBe('Done.');
  expect(server.requests.at(-1)).toMatchObject({ pictures: 1, tools: ['computerUse ENVIRONMENT_BROWSER'] });
});
