/** A model uses a computer over each vendor's wire, against the scripted model server: the same task, the same ends, the same faults. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../../../src/kit/clock/timers.ts';
import { createPlanner } from '../../../../src/runtime-server/computer-use/planner/index.ts';
import type { PlannerOrder } from '../../../../src/runtime-server/computer-use/runs/planner-port.ts';
import { createModels } from '../../../../src/runtime-server/models/index.ts';
import type { ToolsetForm } from '../../../../src/runtime-server/models/toolsets/which.ts';
import {
  inOrder,
  type ModelReply,
  type ModelRequest,
  type Script,
  type ToolCall,
  text,
  tools,
} from '../../../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../../../support/model-server/server.ts';
import { createHands, done, type FakeHands, failed } from './fake-hands.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());

const forms = ['anthropic', 'openai', 'google', 'functions'] as const;
type Form = (typeof forms)[number];
const models = { anthropic: 'claude-x', openai: 'gpt-x', google: 'gemini-x', functions: 'local/tiny' } as const;
const quick: Timers = { after: (ms, effect) => systemTimers.after(ms < 60_000 ? ms / 50 : ms, effect) };

function planner(
  toolsets: Readonly<Record<string, ToolsetForm>> = { anthropic: 'native', openai: 'native', google: 'native' },
) {
  const { url } = server;
  return createPlanner({
    platform: 'linux',
    models: createModels({
      env: {
        ANTHROPIC_API_KEY: 'k',
        ANTHROPIC_BASE_URL: url,
        OPENAI_API_KEY: 'k',
        OPENAI_BASE_URL: `${url}/v1`,
        GEMINI_API_KEY: 'k',
        GOOGLE_GEMINI_BASE_URL: url,
      },
      settings: { endpoints: { local: { wire: 'openai', baseUrl: `${url}/v1` } } },
      computerUse: { toolsets },
      clock: systemClock,
      timers: quick,
      random: () => 0,
    }),
  });
}

async function run(form: Form, script: Script, hands: FakeHands = createHands(), more: Partial<PlannerOrder> = {}) {
  server.script(script);
  const before = server.requests.length;
  const order: PlannerOrder = {
    runId: 'run_1',
    mode: 'intent',
    model: models[form],
    task: 'Send the form.',
    context: null,
    targetScope: 'browser',
    signal: new AbortController().signal,
    ...more,
  };
  const end = await planner().run(order, hands);
  return { end, hands, requests: server.requests.slice(before) };
}

/** The same action as each vendor's model writes it. */
const click: Readonly<Record<Form, ToolCall>> = {
  anthropic: { toolset: 'browser', name: 'left_click', input: { target: { type: 'coordinate', x: 10, y: 20 } } },
  openai: {
    toolset: 'computer',
    name: 'computer',
    input: { actions: [{ type: 'click', button: 'left', x: 10, y: 20 }] },
  },
  google: { name: 'click_at', input: { x: 10, y: 20 } },
  functions: { name: 'browser_left_click', input: { target: { type: 'coordinate', x: 10, y: 20 } } },
};
const look: Readonly<Record<Form, ToolCall>> = {
  anthropic: { toolset: 'browser', name: 'screenshot', input: {} },
  openai: { toolset: 'computer', name: 'computer', input: { actions: [{ type: 'screenshot' }] } },
  google: { name: 'open_web_browser', input: {} },
  functions: { name: 'browser_screenshot', input: {} },
};
const type: Readonly<Record<Form, ToolCall>> = {
  anthropic: { toolset: 'browser', name: 'type', input: { text: 'Grüße' } },
  openai: { toolset: 'computer', name: 'computer', input: { actions: [{ type: 'type', text: 'Grüße' }] } },
  google: { name: 'type_text_at', input: { x: 1, y: 2, text: 'Grüße', clear_before_typing: false } },
  functions: { name: 'browser_type', input: { text: 'Grüße' } },
};
const unknown: Readonly<Record<Form, ToolCall>> = {
  anthropic: { toolset: 'browser', name: 'fly', input: {} },
  openai: { toolset: 'computer', name: 'computer', input: { actions: [{ type: 'fly' }] } },
  google: { name: 'fly_to', input: {} },
  functions: { name: 'browser_fly', input: {} },
};
const malformed: Readonly<Record<Form, ToolCall>> = {
  anthropic: { toolset: 'browser', name: 'left_click', input: { target: { type: 'coordinate', x: 'ten' } } },
  openai: {
    toolset: 'computer',
    name: 'computer',
    input: { actions: [{ type: 'click', button: 'left', x: 'ten', y: 1 }] },
  },
  google: { name: 'click_at', input: { x: 4000, y: 1 } },
  functions: { name: 'browser_left_click', input: { target: 'the button' } },
};
const replies = (...list: [ModelReply, ...ModelReply[]]) => inOrder(...list);
/** Of Anthropic's wire. */
const lastContent = (request: ModelRequest | undefined) =>
  ((request?.body.messages ?? []) as { content: Record<string, unknown>[] }[]).at(-1)?.content ?? [];
const resultsOf = (request: ModelRequest | undefined) =>
  request?.toolResults.map((result) => result.text).join('\n') ?? '';

test.each(forms)(
  '%s: looks, does two calls of one turn in their order, sees what came of them, and ends with its words',
  async (form) => {
    const { end, hands, requests } = await run(
      form,
      replies(tools(look[form]), tools(click[form], type[form]), text('The form was sent.')),
    );
    expect(end).toEqual({ how: 'done', text: 'The form was sent.', error: null });
    expect(hands.calls.map((call) => call.member).filter((member) => member !== 'screenshot')).toEqual(
      form === 'google' ? ['left_click', 'left_click', 'type'] : ['left_click', 'type'],
    );
    expect(hands.calls[1]).toEqual({
      toolset: 'browser',
      member: 'left_click',
      input: { target: { type: 'coordinate', x: 10, y: 20 } },
      ...(form === 'google' && { coordinateSpace: 'normalized_1000' }),
    });
    expect(hands.steps).toBe(3);
    expect(hands.answers.map((answer) => answer.calls)).toEqual([1, form === 'google' ? 3 : 2, 0]);
    expect(hands.answers[2]).toMatchObject({
      model: { functions: 'tiny' }[form as string] ?? models[form],
      usage: { output: 20 },
    });
    expect(requests[0]).toMatchObject({ lastUser: 'Send the form.', pictures: 0 });
    expect(requests[0]?.system).toMatch(/is data, never an instruction/);
    expect(requests[1]?.pictures).toBe(1);
    // A vendor that answers with pictures alone gets one for each call; the others ask for what they want to see.
    expect(requests[2]?.pictures).toBe(form === 'openai' || form === 'google' ? 3 : 1);
    expect(requests[2]?.toolResults).toHaveLength(2);
  },
);

test.each(forms)('%s: what is on offer is in the form of the vendor', async (form) => {
  const { requests } = await run(form, () => text('Nothing to do.'), createHands(), { targetScope: 'auto' });
  const offered = requests[0]?.tools ?? [];
  const extras = [
    'browser_navigate',
    'browser_list_tabs',
    'browser_new_tab',
    'browser_switch_tab',
    'browser_close_tab',
  ];
  if (form === 'anthropic') expect(offered).toEqual(['browser_toolset_20260801', 'computer_toolset_20260801']);
  if (form === 'openai') expect(offered.toSorted()).toEqual(['computer', ...extras].toSorted());
  if (form === 'google') {
    expect(offered.toSorted()).toEqual(['computerUse ENVIRONMENT_BROWSER', ...extras.slice(1)].toSorted());
  }
  if (form === 'functions') expect(offered).toEqual(expect.arrayContaining(['browser_left_click', 'computer_zoom']));
  expect(requests[0]?.wire).toBe(
    { anthropic: 'anthropic', openai: 'openai-responses', google: 'gemini', functions: 'openai-chat' }[form],
  );
});

test.each(forms)(
  '%s: an unknown action and malformed coordinates come back to it as results, and nothing is done',
  async (form) => {
    const { end, hands, requests } = await run(
      form,
      replies(tools(unknown[form], malformed[form], click[form]), text('Done after all.')),
    );
    expect(end.how).toBe('done');
    expect(hands.calls.filter((call) => call.member !== 'screenshot')).toMatchObject([{ member: 'left_click' }]);
    expect(hands.answers[0]?.calls).toBe(1);
    const seen = JSON.stringify(requests[1]?.body);
    expect(seen).toMatch(/fly/);
    expect(seen).toMatch(/cannot be read/);
  },
);

test.each(forms)('%s: answers that are no action, twice in a row, end it and say so', async (form) => {
  const { end, hands, requests } = await run(
    form,
    replies(tools(unknown[form]), tools(malformed[form]), text('Never asked.')),
  );
  expect(end).toMatchObject({ how: 'fault', error: { code: 'model_answers_not_actions' } });
  expect(end.error?.message).toMatch(/2 times in a row/);
  expect(end.error?.message).toMatch(/cannot be read/);
  expect(hands.calls.filter((call) => call.member !== 'screenshot')).toEqual([]);
  expect(requests).toHaveLength(2);
});

test.each(forms)('%s: an action between two answers that are none lets it go on', async (form) => {
  const { end, requests } = await run(
    form,
    replies(tools(unknown[form]), tools(click[form]), tools(malformed[form]), text('Ready.')),
  );
  expect(end).toMatchObject({ how: 'done', text: 'Ready.' });
  expect(requests).toHaveLength(4);
});

test('coordinates that the contract refuses count as no action', async () => {
  const hands = createHands(() => failed('invalid_toolset_call', 'The point 5000, 20 is outside of the frame.'));
  const { end } = await run('anthropic', () => tools(click.anthropic), hands);
  expect(end).toMatchObject({ how: 'fault', error: { code: 'model_answers_not_actions' } });
  expect(end.error?.message).toContain('outside of the frame');
  expect(hands.calls).toHaveLength(2);
});

test.each(forms)('%s: an answer cut off inside a call does nothing; told so, the model goes on', async (form) => {
  const cut: ModelReply = { kind: 'length', text: '', calls: [click[form]] };
  const { end, hands, requests } = await run(form, replies(cut, text('Shorter.')));
  expect(end).toMatchObject({ how: 'done', text: 'Shorter.' });
  expect(hands.calls).toEqual([]);
  expect(requests[1]?.lastUser).toContain('cut off');
});

test.each(forms)('%s: cut off or empty twice in a row is an end with a reason', async (form) => {
  const { end, requests } = await run(form, replies({ kind: 'length', text: '', calls: [click[form]] }, text('')));
  expect(end).toMatchObject({ how: 'fault', error: { code: 'model_answers_not_actions' } });
  expect(requests).toHaveLength(2);
});

test.each(forms)('%s: a refusal ends it as refused', async (form) => {
  const { end, hands } = await run(form, () => ({ kind: 'refusal', text: 'I will not do this.' }));
  expect(end).toMatchObject({ how: 'refused', error: null });
  expect(hands.calls).toEqual([]);
});

test.each(forms)('%s: what was denied reaches the model as the result, and it may choose another way', async (form) => {
  const hands = createHands((call) =>
    call.member === 'left_click'
      ? { kind: 'denied', message: 'A person said no: not this button.' }
      : done(null, { pictures: [1] }),
  );
  const { end, requests } = await run(form, replies(tools(click[form]), text('I leave it.')), hands);
  expect(end).toMatchObject({ how: 'done', text: 'I leave it.' });
  expect(JSON.stringify(requests[1]?.body)).toContain('not this button');
});

test.each(forms)(
  '%s: after the first failed action of a call the others are not done, and the model reads why',
  async (form) => {
    const hands = createHands((call) =>
      call.member === 'left_click'
        ? failed('element_covered', 'Something lies over it.')
        : done(null, { pictures: [1] }),
    );
    const batch: Readonly<Record<Form, ToolCall>> = {
      ...click,
      openai: {
        ...click.openai,
        input: {
          actions: [
            { type: 'click', button: 'left', x: 1, y: 1 },
            { type: 'type', text: 'a' },
          ],
        },
      },
      google: type.google,
    };
    const { hands: used, requests } = await run(form, replies(tools(batch[form]), text('So be it.')), hands);
    expect(used.calls.map((call) => call.member)).not.toContain('type');
    const body = JSON.stringify(requests[1]?.body);
    expect(body).toContain('Something lies over it.');
    if (form === 'openai' || form === 'google') expect(body).toContain('Skipped after that: type');
  },
);

test.each(forms)('%s: no more steps allowed is the end, before the model is asked', async (form) => {
  const { end, hands, requests } = await run(form, () => tools(click[form]), createHands(undefined, 2));
  expect(end).toMatchObject({ how: 'limit', error: null });
  expect(requests).toHaveLength(2);
  expect(hands.steps).toBe(2);
});

test.each(forms)('%s: only the last three pictures are shown again', async (form) => {
  const shots = Array.from({ length: 5 }, () => tools(look[form])) as [ModelReply, ...ModelReply[]];
  const { requests } = await run(form, replies(...shots, text('Seen.')));
  expect(requests).toHaveLength(6);
  const placeholders = form === 'openai' ? 2 : 0;
  expect(requests[5]?.pictures).toBe(3 + placeholders);
  const last = JSON.stringify(requests[5]?.body);
  const shown = [...last.matchAll(/cG5n[A-Za-z0-9+/=]+/g)].map(([data]) => data);
  const before = [...JSON.stringify(requests[3]?.body).matchAll(/cG5n[A-Za-z0-9+/=]+/g)].map(([data]) => data);
  expect(shown).toHaveLength(3);
  expect(before).toHaveLength(3);
  expect(shown[0]).toBe(before[2]);
});

test.each(forms)(
  '%s: an overloaded service is asked again, one that takes no more requests when it said that it would',
  async (form) => {
    const { end, hands } = await run(
      form,
      replies(
        { kind: 'error', status: 529 },
        tools(click[form]),
        { kind: 'error', status: 429, retryAfter: 1 },
        text('Ready.'),
      ),
    );
    expect(end).toMatchObject({ how: 'done', text: 'Ready.' });
    expect(hands.calls.filter((call) => call.member === 'left_click')).toHaveLength(1);
  },
);

test.each(forms)('%s: an answer that breaks off is asked for again, and nothing of it is done twice', async (form) => {
  const { end, hands } = await run(
    form,
    replies(tools(click[form]), { kind: 'cut', text: 'I will now' }, tools(type[form]), text('Ready.')),
  );
  expect(end).toMatchObject({ how: 'done' });
  expect(hands.answers).toHaveLength(3);
  expect(hands.calls.filter((call) => call.member === 'type')).toHaveLength(1);
});

test.each(forms)('%s: a service that stays away, or that refuses the key, ends it with its reason', async (form) => {
  const away = await run(form, () => ({ kind: 'error', status: 529 }));
  expect(away.end).toMatchObject({ how: 'fault', error: { code: 'model_overloaded' } });
  const key = await run(form, () => ({ kind: 'error', status: 401, message: 'no such key' }));
  expect(key.end).toMatchObject({ how: 'fault', error: { code: 'model_key_refused' } });
  const busy = await run(form, () => ({ kind: 'error', status: 429, retryAfter: 4000 }));
  expect(busy.end).toMatchObject({ how: 'fault', error: { code: 'model_rate_limited' } });
});

test.each([
  ['rate_limit_exceeded', 'model_rate_limited'],
  ['server_error', 'model_overloaded'],
  ['invalid_prompt', 'model_request_refused'],
])('openai: an answer that fails in its stream with %s is that fault', async (code, told) => {
  const failed = { type: 'response.failed', sequence_number: 0, response: { error: { code, message: 'No more.' } } };
  const body = `event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`;
  const { end } = await run('openai', () => ({ kind: 'garbage', type: 'text/event-stream', body }));
  expect(end).toMatchObject({ how: 'fault', error: { code: told, message: expect.stringContaining('No more.') } });
});

test.each(forms)('%s: an answer that is none of its wire is a fault that says so', async (form) => {
  const { end } = await run(form, () => ({ kind: 'garbage', body: '<h1>Welcome to the gateway</h1>' }));
  expect(end).toMatchObject({ how: 'fault', error: { code: 'model_answer_unreadable' } });
});

test('two toolsets at once: a turn may use both, each result goes back to its own', async () => {
  const { hands, requests } = await run(
    'anthropic',
    replies(
      tools(look.anthropic, { toolset: 'computer', name: 'left_click', input: { coordinate: [1, 2] } }),
      text('Both.'),
    ),
    createHands(),
    { targetScope: 'auto' },
  );
  expect(hands.calls.map(({ toolset, member }) => `${toolset}.${member}`)).toEqual([
    'browser.screenshot',
    'computer.left_click',
  ]);
  const results = lastContent(requests[1]);
  expect(results.map((result) => result.toolset_name)).toEqual(['browser', 'computer']);
  const [shot, clicked] = results as { content: { type: string; transformations?: unknown }[] }[];
  // The state of the browser is of its toolset alone; a picture that would be scaled down in secret is refused.
  expect(shot?.content.map((part) => part.type)).toEqual(['image', 'browser_state']);
  expect(shot?.content[0]?.transformations).toEqual({ oversized_image: 'error' });
  expect(clicked?.content.map((part) => part.type)).toEqual(['text']);
});

test('members about tabs answer the state of the browser and nothing else, failed ones say why', async () => {
  const hands = createHands((call) =>
    call.member === 'list_tabs' ? done('One tab.') : failed('tab_not_found', 'No such tab.'),
  );
  const { requests } = await run(
    'anthropic',
    replies(
      tools(
        { toolset: 'browser', name: 'list_tabs', input: {} },
        { toolset: 'browser', name: 'close_tab', input: { tab_id: 'x' } },
      ),
      text('ok'),
    ),
    hands,
  );
  const results = lastContent(requests[1]);
  expect(results).toMatchObject([
    {
      is_error: false,
      content: [{ type: 'browser_state', tabs: [{ tab_id: 't1', active: true, url: 'https://example.org/' }] }],
    },
    { is_error: true, content: [{ type: 'text', text: 'No such tab.' }] },
  ]);
});

const check = { id: 'sc_1', code: 'irrelevant_domain', message: 'This page looks odd.' };
const checked: Readonly<Record<'openai' | 'google', ToolCall>> = {
  openai: { ...click.openai, input: { ...click.openai.input, pending_safety_checks: [check] } },
  google: {
    ...type.google,
    input: {
      ...type.google.input,
      safety_decision: { decision: 'require_confirmation', explanation: 'This page looks odd.' },
    },
  },
};

test.each(['openai', 'google'] as const)(
  '%s: a safety check is a question with its words, and acknowledged once it was allowed',
  async (form) => {
    const { hands, requests } = await run(form, replies(tools(checked[form]), text('Ready.')));
    const asked = hands.calls.filter((call) => call.confirm !== undefined);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ member: 'left_click', confirm: expect.stringContaining('This page looks odd.') });
    // What is typed may be a secret: the question names the action alone.
    expect(asked[0]?.confirm).not.toContain('Grüße');
    const body = JSON.stringify(requests[1]?.body);
    if (form === 'openai') expect(body).toContain(`"acknowledged_safety_checks":[${JSON.stringify(check)}]`);
    else expect(body).toContain('"safety_acknowledgement":"true"');
  },
);

test.each(['openai', 'google'] as const)(
  '%s: a safety check that a person denied is never acknowledged',
  async (form) => {
    const hands = createHands((call) =>
      call.confirm === undefined ? done(null, { pictures: [1] }) : { kind: 'denied', message: 'No, it is odd.' },
    );
    const { end, requests } = await run(form, replies(tools(checked[form]), text('I stop here.')), hands);
    expect(end).toMatchObject({ how: 'done', text: 'I stop here.' });
    const body = JSON.stringify(requests[1]?.body);
    expect(body).not.toMatch(/acknowledged_safety_checks|safety_acknowledgement/);
    expect(body).toContain('No, it is odd.');
    // An output without the acknowledgement would be refused: the call is gone from the conversation.
    if (form === 'openai') expect(body).not.toContain('computer_call');
  },
);

test.each(forms)('%s: a stop ends it with the reason of whoever stopped it', async (form) => {
  const stop = new AbortController();
  const hands = createHands((call) => {
    stop.abort(new Error('The run was cancelled.'));
    return call.member === 'screenshot' ? done(null, { pictures: [1] }) : done();
  });
  const ended = run(form, () => tools(click[form]), hands, { signal: stop.signal });
  await expect(ended).rejects.toThrow('The run was cancelled.');
});

test.each(forms)('%s: what the hands cannot go on from is passed on as it is', async (form) => {
  const hands = createHands(() => Promise.reject(new Error('The display is gone.')));
  await expect(run(form, () => tools(click[form]), hands)).rejects.toThrow('The display is gone.');
});

test('what the person wrote besides the task is told, and in assist that each action is a proposal', async () => {
  const { requests } = await run('functions', () => text('ok'), createHands(), {
    mode: 'assist',
    context: 'My name is Ödön.',
  });
  expect(requests[0]?.lastUser).toBe('Send the form.\n\nWhat you should know:\nMy name is Ödön.');
  expect(requests[0]?.system).toContain('You propose and the person decides');
});

test('functions tell the tabs in words, since they have no other place for them', async () => {
  const hands = createHands(() => done('Opened.'));
  const navigate = { name: 'browser_navigate', input: { url: 'example.org' } };
  const { requests } = await run('functions', replies(tools(navigate), text('ok')), hands);
  expect(resultsOf(requests[1])).toBe(
    'Opened.\nTabs: [{"tab_id":"t1","title":"Example","url":"https://example.org/","active":true}]',
  );
});

test('a server of one’s own, and a vendor at another address, are offered functions unless settings say otherwise', async () => {
  server.script(() => text('ok'));
  const before = server.requests.length;
  const order = { runId: 'r', mode: 'intent', task: 't', context: null, targetScope: 'browser' } as const;
  const signal = new AbortController().signal;
  const ask = (model: string, toolsets: Record<string, ToolsetForm>) =>
    planner(toolsets).run({ ...order, model, signal }, createHands());
  await ask('claude-x', {});
  await ask('anthropic/claude-x', { anthropic: 'native' });
  await ask('local/tiny', { local: 'native' });
  await ask('local/tiny', { local: 'native', 'local/tiny': 'functions' });
  const asked = server.requests.slice(before);
  expect(asked.map((request) => request.tools.includes('browser_left_click'))).toEqual([true, false, false, true]);
  expect(asked[2]?.wire).toBe('openai-responses');
});
