import { expect, test } from 'vitest';
import type { RunEvent, RunEventType } from '../../../../src/contracts/computer-use/run.ts';
import { clickCall, pointIn, pressed, scrollCall } from '../../../../src/renderer/areas/computers/person-input.ts';
import { entriesOf, picturesOf } from '../../../../src/renderer/areas/computers/steps.ts';

function told(...list: readonly (readonly [RunEventType, Record<string, unknown>?, string?])[]): RunEvent[] {
  return list.map(([event_type, data = {}, message = event_type], index) => ({
    index,
    event_type,
    run_id: 'run_1',
    at: '2026-11-22T10:00:00.000Z',
    message,
    data,
  }));
}

test('an action is one entry with what came of it and what was seen after it', () => {
  const click = {
    call_index: 0,
    toolset: 'browser',
    member: 'left_click',
    input: { target: { type: 'ref', ref: 'e1' } },
  };
  const type = { call_index: 1, toolset: 'browser', member: 'type', input: { text: '•••• (3 characters)' } };
  const entries = entriesOf(
    told(
      ['run.started', {}, 'The run has started.'],
      ['step.started'],
      ['action.started', click],
      ['approval.required'],
      ['approval.resolved', { decision: 'approved' }],
      ['action.completed', { ...click, duration_ms: 420 }],
      ['artifact.created', { kind: 'screenshot', artifact_id: 'art_1' }],
      ['action.started', type],
      ['action.failed', type, 'Nothing has the focus.'],
      ['run.failed', {}, 'Nothing has the focus.'],
      ['run.ended'],
    ),
  );
  expect(entries.map(({ words, state, detail }) => [words, state, detail])).toEqual([
    ['The run has started.', 'note', null],
    ['Click at e1', 'done', '0.4 s'],
    ['Approved', 'note', null],
    ['Type •••• (3 characters)', 'failed', 'Nothing has the focus.'],
    ['Nothing has the focus.', 'failed', null],
  ]);
  expect(picturesOf(entries).map(({ id, entry }) => [id, entry.words])).toEqual([['art_1', 'Click at e1']]);
});

test('a place of the drawn picture is the pixel of the frame behind it, also at and beyond its edges', () => {
  const box = { left: 100, top: 50, width: 640, height: 400 };
  const frame = { width: 1280, height: 800 };
  expect(pointIn(box, frame, { x: 420, y: 250 })).toEqual({ x: 640, y: 400 });
  expect(pointIn(box, frame, { x: 740, y: 450 })).toEqual({ x: 1279, y: 799 });
  expect(pointIn(box, frame, { x: 0, y: 0 })).toEqual({ x: 0, y: 0 });
});

test('what a person presses is a text or a chord in the names of the computer, and a place is written as each toolset has it', () => {
  const press = (key: string, held: object = {}) =>
    pressed({ key, ctrlKey: false, altKey: false, metaKey: false, shiftKey: false, ...held });
  expect(press('ß')).toEqual({ text: 'ß' });
  expect(press('A', { shiftKey: true })).toEqual({ text: 'A' });
  expect(press('@', { ctrlKey: true, altKey: true })).toEqual({ text: '@' });
  expect(press('a', { ctrlKey: true })).toEqual({ chord: 'ctrl+a' });
  expect(press('Enter')).toEqual({ chord: 'Return' });
  expect(press('ArrowLeft', { shiftKey: true })).toEqual({ chord: 'shift+Left' });
  expect(press('Shift', { shiftKey: true })).toBeNull();
  expect(clickCall('computer', 'left_click', { x: 1, y: 2 }).input).toEqual({ coordinate: [1, 2] });
  expect(clickCall('browser', 'left_click', { x: 1, y: 2 }).input).toEqual({
    target: { type: 'coordinate', x: 1, y: 2 },
  });
  expect(scrollCall('computer', { x: 1, y: 2 }, { x: 0, y: -260 })?.input).toMatchObject({
    scroll_direction: 'up',
    scroll_amount: 3,
  });
});
