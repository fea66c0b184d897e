/** What the vendors' models write, as actions of our own members: each row of the mapping, and everything that is none of them. */
import { describe, expect, test } from 'vitest';
import { membersOf, type Toolset, toolsets } from '../../../../src/contracts/computer-use/members.ts';
import type { ToolCall } from '../../../../src/runtime-server/models/model.ts';
import { offerToolsets } from '../../../../src/runtime-server/models/toolsets/index.ts';

type Vendor = 'anthropic' | 'openai' | 'google' | 'functions';
const frame = { width: 1280, height: 800 };

function read(vendor: Vendor, wanted: readonly Toolset[], call: Partial<ToolCall>) {
  const offer =
    vendor === 'functions' ? offerToolsets('functions', 'openai', wanted) : offerToolsets('native', vendor, wanted);
  return offer.read({ id: 'call_1', name: 'x', input: {}, ...call }, { toolsets: offer.wanted, frame });
}

const openai = (wanted: Toolset, ...actions: unknown[]) =>
  read('openai', [wanted], { name: 'computer', toolset: 'computer', input: { actions, pending_safety_checks: [] } });
const google = (wanted: Toolset, name: string, input: unknown) =>
  read('google', [wanted], { name, toolset: 'computer_use', input });

const at = (x: number, y: number) => ({ type: 'coordinate', x, y });
type Row = [unknown, [string, object][] | string, [string, object][] | string];

describe('OpenAI computer', () => {
  const rows: Row[] = [
    [
      { type: 'click', button: 'left', x: 10, y: 20 },
      [['left_click', { target: at(10, 20) }]],
      [['left_click', { coordinate: [10, 20] }]],
    ],
    [
      { type: 'click', button: 'right', x: 1, y: 2, keys: ['SHIFT', 'CTRL'] },
      [['right_click', { target: at(1, 2), modifiers: 'shift+ctrl' }]],
      [['right_click', { coordinate: [1, 2], text: 'shift+ctrl' }]],
    ],
    [
      { type: 'click', button: 'wheel', x: 1, y: 2, keys: null },
      [['middle_click', { target: at(1, 2) }]],
      [['middle_click', { coordinate: [1, 2] }]],
    ],
    [{ type: 'click', button: 'back', x: 0, y: 0 }, [['navigate', { url: 'back' }]], [['key', { text: 'alt+Left' }]]],
    [
      { type: 'click', button: 'forward', x: 0, y: 0 },
      [['navigate', { url: 'forward' }]],
      [['key', { text: 'alt+Right' }]],
    ],
    [
      { type: 'double_click', x: 3, y: 4, keys: [] },
      [['double_click', { target: at(3, 4) }]],
      [['double_click', { coordinate: [3, 4] }]],
    ],
    [
      {
        type: 'drag',
        path: [
          { x: 1, y: 2 },
          { x: 3, y: 4 },
        ],
      },
      [['left_click_drag', { from: at(1, 2), target: at(3, 4) }]],
      [['left_click_drag', { start_coordinate: [1, 2], coordinate: [3, 4] }]],
    ],
    [
      {
        type: 'drag',
        path: [
          { x: 1, y: 2 },
          { x: 3, y: 4 },
          { x: 5, y: 6 },
        ],
      },
      [
        ['left_mouse_down', { target: at(1, 2) }],
        ['mouse_move', { target: at(3, 4) }],
        ['mouse_move', { target: at(5, 6) }],
        ['left_mouse_up', { target: at(5, 6) }],
      ],
      [
        ['mouse_move', { coordinate: [1, 2] }],
        ['left_mouse_down', {}],
        ['mouse_move', { coordinate: [3, 4] }],
        ['mouse_move', { coordinate: [5, 6] }],
        ['left_mouse_up', {}],
      ],
    ],
    [
      {
        type: 'drag',
        path: [
          { x: 1, y: 2 },
          { x: 3, y: 4 },
        ],
        keys: ['ALT'],
      },
      'drag takes no held keys here.',
      [['left_click_drag', { start_coordinate: [1, 2], coordinate: [3, 4], text: 'alt' }]],
    ],
    [{ type: 'keypress', keys: ['CTRL', 'a'] }, [['key', { text: 'ctrl+a' }]], [['key', { text: 'ctrl+a' }]]],
    [{ type: 'keypress', keys: ['ENTER'] }, [['key', { text: 'Return' }]], [['key', { text: 'Return' }]]],
    [
      { type: 'keypress', keys: ['CMD', 'ARROWLEFT'] },
      [['key', { text: 'super+Left' }]],
      [['key', { text: 'super+Left' }]],
    ],
    [{ type: 'keypress', keys: [' '] }, [['key', { text: 'space' }]], [['key', { text: 'space' }]]],
    [{ type: 'keypress', keys: ['F5'] }, [['key', { text: 'f5' }]], [['key', { text: 'f5' }]]],
    [{ type: 'move', x: 7, y: 8 }, [['mouse_move', { target: at(7, 8) }]], [['mouse_move', { coordinate: [7, 8] }]]],
    [{ type: 'screenshot' }, [['screenshot', {}]], [['screenshot', {}]]],
    [
      { type: 'scroll', x: 5, y: 6, scroll_x: 0, scroll_y: 250 },
      [['scroll', { target: at(5, 6), scroll_direction: 'down', scroll_amount: 3 }]],
      [['scroll', { coordinate: [5, 6], scroll_direction: 'down', scroll_amount: 3 }]],
    ],
    [
      { type: 'scroll', x: 5, y: 6, scroll_x: -1, scroll_y: -100 },
      [
        ['scroll', { target: at(5, 6), scroll_direction: 'up', scroll_amount: 1 }],
        ['scroll', { target: at(5, 6), scroll_direction: 'left', scroll_amount: 1 }],
      ],
      [
        ['scroll', { coordinate: [5, 6], scroll_direction: 'up', scroll_amount: 1 }],
        ['scroll', { coordinate: [5, 6], scroll_direction: 'left', scroll_amount: 1 }],
      ],
    ],
    [
      { type: 'scroll', x: 5, y: 6, scroll_x: 0, scroll_y: 1200 },
      [
        ['scroll', { target: at(5, 6), scroll_direction: 'down', scroll_amount: 10 }],
        ['scroll', { target: at(5, 6), scroll_direction: 'down', scroll_amount: 2 }],
      ],
      [['scroll', { coordinate: [5, 6], scroll_direction: 'down', scroll_amount: 12 }]],
    ],
    [{ type: 'type', text: 'Grüße 日本' }, [['type', { text: 'Grüße 日本' }]], [['type', { text: 'Grüße 日本' }]]],
    [{ type: 'wait' }, [['wait', { duration: 2 }]], [['wait', { duration: 2 }]]],
  ];
  for (const [index, toolset] of (['browser', 'computer'] as const).entries()) {
    test.each(rows.map((row) => [JSON.stringify(row[0]), row] as const))(`in ${toolset}: %s`, (_name, row) => {
      const expected = row[index + 1] as Row[1];
      if (typeof expected === 'string') expect(openai(toolset, row[0])).toEqual({ problem: expected });
      else {
        const actions = expected.map(([member, input]) => ({ toolset, member, input }));
        expect(openai(toolset, row[0])).toEqual({ actions, checks: [] });
      }
    });
  }

  test('a batch keeps its order, an older single action counts as a batch of one, and checks come along', () => {
    const batch = openai('browser', { type: 'click', button: 'left', x: 1, y: 1 }, { type: 'type', text: 'a' });
    expect(batch).toMatchObject({ actions: [{ member: 'left_click' }, { member: 'type' }] });
    const check = { id: 'sc_1', code: 'malicious_instructions', message: 'Somebody else wrote this.' };
    const old = read('openai', ['browser'], {
      name: 'computer',
      toolset: 'computer',
      input: { action: { type: 'screenshot' }, pending_safety_checks: [check, { id: 'sc_2' }] },
    });
    expect(old).toEqual({
      actions: [{ toolset: 'browser', member: 'screenshot', input: {} }],
      checks: [check, { id: 'sc_2', code: null, message: null }],
    });
  });

  test.each([
    ['an unknown action', { type: 'fly', x: 1, y: 1 }],
    ['coordinates in words', { type: 'click', button: 'left', x: 'ten', y: 1 }],
    ['a missing coordinate', { type: 'move', x: 1 }],
    ['an unknown button', { type: 'click', button: 'sixth', x: 1, y: 1 }],
    ['a path of one point', { type: 'drag', path: [{ x: 1, y: 1 }] }],
    ['a scroll by nothing', { type: 'scroll', x: 1, y: 1, scroll_x: 0, scroll_y: 0 }],
    ['a text', 'click on the button'],
    ['nothing', null],
  ])('%s is no action, and one of them spoils its batch', (_name, action) => {
    expect(openai('browser', { type: 'wait' }, action)).toEqual({ problem: expect.any(String) });
    expect(openai('computer', action)).toEqual({ problem: expect.any(String) });
  });

  test('a call without actions is none', () => {
    expect(openai('browser')).toEqual({ problem: 'The call of computer has no actions.' });
    const call = { name: 'computer', toolset: 'computer', input: 'click' };
    expect(read('openai', ['browser'], call)).toEqual({ problem: expect.stringContaining('cannot be read') });
  });
});

describe('Gemini computerUse', () => {
  const grid = 'normalized_1000';
  const rows: [string, object, [string, object, string?][] | string, [string, object, string?][] | string][] = [
    ['open_web_browser', {}, [['screenshot', {}]], [['screenshot', {}]]],
    [
      'click_at',
      { x: 0, y: 999 },
      [['left_click', { target: at(0, 999) }, grid]],
      [['left_click', { coordinate: [0, 999] }, grid]],
    ],
    [
      'hover_at',
      { x: 5, y: 6 },
      [['hover', { target: at(5, 6) }, grid]],
      [['mouse_move', { coordinate: [5, 6] }, grid]],
    ],
    [
      'type_text_at',
      { x: 5, y: 6, text: 'ä', press_enter: true },
      [
        ['left_click', { target: at(5, 6) }, grid],
        ['key', { text: 'ctrl+a' }],
        ['key', { text: 'BackSpace' }],
        ['type', { text: 'ä' }],
        ['key', { text: 'Return' }],
      ],
      [
        ['left_click', { coordinate: [5, 6] }, grid],
        ['key', { text: 'ctrl+a' }],
        ['key', { text: 'BackSpace' }],
        ['type', { text: 'ä' }],
        ['key', { text: 'Return' }],
      ],
    ],
    [
      'type_text_at',
      { x: 5, y: 6, text: 'b', clear_before_typing: false },
      [
        ['left_click', { target: at(5, 6) }, grid],
        ['type', { text: 'b' }],
      ],
      [
        ['left_click', { coordinate: [5, 6] }, grid],
        ['type', { text: 'b' }],
      ],
    ],
    [
      'scroll_document',
      { direction: 'down' },
      [['scroll', { target: at(500, 500), scroll_direction: 'down', scroll_amount: 5 }, grid]],
      [['scroll', { coordinate: [500, 500], scroll_direction: 'down', scroll_amount: 5 }, grid]],
    ],
    [
      'scroll_at',
      { x: 1, y: 2, direction: 'up' },
      [['scroll', { target: at(1, 2), scroll_direction: 'up', scroll_amount: 7 }, grid]],
      [['scroll', { coordinate: [1, 2], scroll_direction: 'up', scroll_amount: 7 }, grid]],
    ],
    [
      'scroll_at',
      { x: 1, y: 2, direction: 'right', magnitude: 999 },
      [
        ['scroll', { target: at(1, 2), scroll_direction: 'right', scroll_amount: 10 }, grid],
        ['scroll', { target: at(1, 2), scroll_direction: 'right', scroll_amount: 3 }, grid],
      ],
      [['scroll', { coordinate: [1, 2], scroll_direction: 'right', scroll_amount: 13 }, grid]],
    ],
    ['wait_5_seconds', {}, [['wait', { duration: 5 }]], [['wait', { duration: 5 }]]],
    ['go_back', {}, [['navigate', { url: 'back' }]], [['key', { text: 'alt+Left' }]]],
    ['go_forward', {}, [['navigate', { url: 'forward' }]], [['key', { text: 'alt+Right' }]]],
    [
      'search',
      {},
      [['navigate', { url: 'https://www.google.com' }]],
      'search needs a browser, and this computer session has none.',
    ],
    [
      'navigate',
      { url: 'example.org' },
      [['navigate', { url: 'example.org' }]],
      'navigate needs a browser, and this computer session has none.',
    ],
    [
      'key_combination',
      { keys: 'Control+Shift+T' },
      [['key', { text: 'ctrl+shift+T' }]],
      [['key', { text: 'ctrl+shift+T' }]],
    ],
    [
      'drag_and_drop',
      { x: 1, y: 2, destination_x: 3, destination_y: 4 },
      [['left_click_drag', { from: at(1, 2), target: at(3, 4) }, grid]],
      [['left_click_drag', { start_coordinate: [1, 2], coordinate: [3, 4] }, grid]],
    ],
  ];
  for (const [index, toolset] of (['browser', 'computer'] as const).entries()) {
    test.each(rows.map((row) => [row[0], JSON.stringify(row[1]), row] as const))(
      `in ${toolset}: %s %s`,
      (name, _args, row) => {
        const expected = row[index + 2] as (typeof row)[2];
        if (typeof expected === 'string') expect(google(toolset, name, row[1])).toEqual({ problem: expected });
        else {
          const actions = expected.map(([member, input, space]) => ({
            toolset,
            member,
            input,
            ...(space && { space }),
          }));
          expect(google(toolset, name, row[1])).toEqual({ actions, checks: [] });
        }
      },
    );
  }

  test('what stands in a field is selected by the chord of its system', () => {
    const { read: readCall } = offerToolsets('native', 'google', ['browser']);
    const typed = { id: 'c', name: 'type_text_at', toolset: 'computer_use', input: { x: 1, y: 1, text: 'a' } };
    expect(readCall(typed, { toolsets: ['browser'], frame, mac: true })).toMatchObject({
      actions: [{}, { input: { text: 'super+a' } }, {}, {}],
    });
  });

  test('a decision that wants confirmation comes along as a check, one that allows does not', () => {
    const asked = {
      x: 1,
      y: 1,
      safety_decision: { decision: 'require_confirmation', explanation: 'It accepts terms.' },
    };
    expect(google('browser', 'click_at', asked)).toMatchObject({
      checks: [{ id: 'call_1', code: 'require_confirmation', message: 'It accepts terms.' }],
    });
    const allowed = { x: 1, y: 1, safety_decision: { decision: 'regular' } };
    expect(google('browser', 'click_at', allowed)).toMatchObject({ checks: [] });
    const unknown = { x: 1, y: 1, safety_decision: { decision: 'block_it' } };
    expect(google('browser', 'click_at', unknown)).toMatchObject({ checks: [{ code: 'block_it', message: null }] });
  });

  test.each([
    ['an unknown function', 'fly_to', { x: 1, y: 1 }],
    ['a name of every object', 'toString', {}],
    ['coordinates beyond the grid', 'click_at', { x: 1000, y: 1 }],
    ['negative coordinates', 'click_at', { x: -1, y: 1 }],
    ['coordinates in words', 'click_at', { x: '5', y: 1 }],
    ['missing arguments', 'drag_and_drop', { x: 1, y: 1 }],
    ['another direction', 'scroll_document', { direction: 'north' }],
    ['a text', 'click_at', 'there'],
  ])('%s is no action', (_name, name, input) => {
    expect(google('browser', name, input)).toEqual({ problem: expect.any(String) });
  });
});

const example: Readonly<Record<Toolset, Readonly<Record<string, object>>>> = {
  computer: {
    zoom: { region: [0, 0, 10, 10] },
    left_click_drag: { start_coordinate: [1, 2], coordinate: [3, 4] },
    mouse_move: { coordinate: [1, 2] },
    scroll: { scroll_direction: 'down', scroll_amount: 3 },
    type: { text: 'ö' },
    key: { text: 'ctrl+s' },
    hold_key: { text: 'a', duration: 1 },
    wait: { duration: 1 },
  },
  browser: {
    navigate: { url: 'example.org' },
    switch_tab: { tab_id: 't' },
    close_tab: { tab_id: 't' },
    find: { query: 'send' },
    zoom: { region: [0, 0, 10, 10] },
    left_click: { target: at(1, 2) },
    right_click: { target: { type: 'ref', ref: 'ref_1' } },
    middle_click: { target: at(1, 2) },
    double_click: { target: at(1, 2) },
    triple_click: { target: at(1, 2) },
    hover: { target: at(1, 2) },
    left_click_drag: { from: at(1, 2), target: at(3, 4) },
    left_mouse_down: { target: at(1, 2) },
    left_mouse_up: { target: at(1, 2) },
    mouse_move: { target: at(1, 2) },
    scroll: { target: at(1, 2), scroll_direction: 'up' },
    scroll_to: { target: { type: 'ref', ref: 'ref_1' } },
    type: { text: 'ö' },
    key: { text: 'Tab' },
    hold_key: { text: 'a', duration: 1 },
    wait: { duration: 1 },
    form_input: { target: { type: 'ref', ref: 'ref_1' }, value: 'ö' },
  },
};
const members = toolsets.flatMap((toolset) =>
  Object.entries(membersOf[toolset]).map(([name, member]) => ({ toolset, name, member })),
);

test.each(members)(
  'Anthropic and functions: $toolset $name is taken as it is, or is not there where it is off',
  (row) => {
    const input = example[row.toolset][row.name] ?? {};
    const expected =
      row.member.offByDefault === true
        ? { problem: expect.stringContaining(`no "${row.name}"`) }
        : { actions: [{ toolset: row.toolset, member: row.name, input }], checks: [] };
    expect(read('anthropic', toolsets, { name: row.name, toolset: row.toolset, input })).toEqual(expected);
    expect(read('functions', toolsets, { name: `${row.toolset}.${row.name}`, input })).toEqual(expected);
  },
);

test.each([
  ['an unknown member', 'browser', 'fly', {}],
  ['a name of every object', 'browser', 'constructor', {}],
  ['a coordinate that is a text', 'computer', 'left_click', { coordinate: '10,20' }],
  ['a coordinate of one number', 'computer', 'left_click', { coordinate: [10] }],
  ['a coordinate that is no number', 'computer', 'mouse_move', { coordinate: ['a', 'b'] }],
  ['a target without its type', 'browser', 'left_click', { target: { x: 1, y: 2 } }],
  ['an unknown field', 'browser', 'navigate', { url: 'example.org', sudo: true }],
  [
    'more clicks than a call takes',
    'browser',
    'scroll',
    { target: at(1, 1), scroll_direction: 'up', scroll_amount: 99 },
  ],
  ['a list', 'browser', 'navigate', []],
] as const)('Anthropic and functions: %s is no action, and the sentence names it', (_name, toolset, name, input) => {
  const expected = { problem: expect.stringContaining(name) };
  expect(read('anthropic', toolsets, { name, toolset, input })).toEqual(expected);
  expect(read('functions', toolsets, { name: `${toolset}.${name}`, input })).toEqual(expected);
});

test('a toolset that was not offered is not taken, nor arguments that are no JSON', () => {
  expect(read('anthropic', ['browser'], { name: 'screenshot', toolset: 'computer' })).toHaveProperty('problem');
  expect(read('anthropic', ['browser'], { name: 'bash', input: {} })).toEqual({ problem: 'There is no tool "bash".' });
  expect(read('functions', ['browser'], { name: 'computer.screenshot' })).toHaveProperty('problem');
  expect(read('functions', ['browser'], { name: 'file.read' })).toEqual({ problem: 'There is no tool "file.read".' });
  const broken = { name: 'browser.navigate', problem: 'The arguments are not JSON: {' };
  expect(read('functions', ['browser'], broken)).toEqual({ problem: broken.problem });
  expect(read('anthropic', ['browser'], { ...broken, name: 'navigate', toolset: 'browser' })).toEqual({
    problem: broken.problem,
  });
});

test('beside the forms that know one screen stand functions for tabs and addresses, of a browser alone', () => {
  const names = (vendor: 'openai' | 'google', wanted: readonly Toolset[]) =>
    offerToolsets('native', vendor, wanted).tools.map((tool) => tool.name);
  expect(names('openai', ['browser'])).toContain('browser.navigate');
  expect(names('google', ['browser', 'computer'])).toContain('browser.list_tabs');
  expect(names('openai', ['computer'])).toEqual([]);
  expect(offerToolsets('native', 'openai', ['browser', 'computer'])).toMatchObject({ wanted: ['browser'] });
  const call = { name: 'browser.navigate', input: { url: 'a.example' } };
  expect(read('openai', ['browser'], call)).toMatchObject({ actions: [{ member: 'navigate' }] });
  expect(read('google', ['browser'], { ...call, name: 'browser.list_tabs', input: {} })).toMatchObject({
    actions: [{ member: 'list_tabs' }],
  });
});

test('functions have names and schemas that every wire takes: no dots on it, no tuples, no null', () => {
  const { tools } = offerToolsets('functions', 'openai', toolsets);
  expect(tools).toHaveLength(members.filter(({ member }) => member.offByDefault !== true).length);
  for (const tool of tools) {
    expect(tool.name.replaceAll('.', '_')).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
    expect(tool.description).not.toBe('');
    expect(tool.inputSchema).toMatchObject({ type: 'object' });
    expect(JSON.stringify(tool.inputSchema)).not.toMatch(/prefixItems|\$schema|"null"|oneOf/);
  }
  const schema = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema;
  expect(schema('computer.left_click')).toMatchObject({
    properties: {
      coordinate: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
      text: { type: 'string' },
    },
  });
  expect(schema('computer.left_click')).not.toHaveProperty('required');
  expect(schema('browser.left_click')).toMatchObject({
    required: ['target'],
    properties: { target: { anyOf: [{ properties: { x: { type: 'number' } } }, { required: ['type', 'ref'] }] } },
  });
});
