// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { computerMembers } from '../../../../src/contracts/computer-use/members.ts';
import { createHand, createLab, createProbe, type Hand, type Lab, missing, type Probe } from './lab.ts';

describe.skipIf(missing !== null)('the desktop under X', () => {
  let lab: Lab;
  let probe: Probe;
  let hand: Hand;
  beforeAll(async () => {
    lab = await createLab('1280x800');
    probe = await createProbe(lab);
    hand = createHand(lab.env);
  });
  afterAll(async () => {
    await hand?.desktop.close();
    probe?.close();
    await lab?.stop();
  });
  beforeEach(() => {
    probe.events.length = 0;
  });
  /** The probe reads its socket later than the display was written to. */
  const words = (count: number) =>
    expect
      .poll(() => probe.words().length)
      .toBe(count)
      .then(() => probe.words());

  test.each([
    ['left_click', ['press 1', 'release 1']],
    ['right_click', ['press 3', 'release 3']],
    ['middle_click', ['press 2', 'release 2']],
    ['double_click', ['press 1', 'release 1', 'press 1', 'release 1']],
    ['triple_click', ['press 1', 'release 1', 'press 1', 'release 1', 'press 1', 'release 1']],
  ])('%s arrives as exactly that many presses, where it was aimed', async (member, events) => {
    await hand.do(member, { coordinate: [120, 90] });
    expect(await words(events.length)).toEqual(events);
    for (const event of probe.events.filter(({ name }) => name === 'ButtonPress'))
      expect([event.rootx, event.rooty]).toEqual([120, 90]);
  });

  test('a click without a place is where the pointer is, and the pointer is said in the frame', async () => {
    await hand.do('mouse_move', { coordinate: [33, 44] });
    await hand.do('left_click');
    expect(await words(2)).toEqual(['press 1', 'release 1']);
    expect((await hand.do('cursor_position')).text).toBe('X=33,Y=44');
  });

  test('keys are held around a click and released after it', async () => {
    await hand.do('left_click', { coordinate: [50, 50], text: 'Ctrl+shift' });
    expect(await words(6)).toEqual(['key 37', 'key 50', 'press 1', 'release 1', 'up 50', 'up 37']);
  });

  test('a button pressed stays down until it is released', async () => {
    await hand.do('left_mouse_down');
    await hand.do('mouse_move', { coordinate: [60, 61] });
    await hand.do('left_mouse_up');
    expect(await words(2)).toEqual(['press 1', 'release 1']);
    const moved = probe.events.filter(({ name }) => name === 'MotionNotify').at(-1);
    expect([moved?.rootx, moved?.rooty]).toEqual([60, 61]);
  });

  test('a drag moves on its way', async () => {
    await hand.do('left_click_drag', { start_coordinate: [20, 20], coordinate: [220, 120] });
    expect(await words(2)).toEqual(['press 1', 'release 1']);
    const moves = probe.events.filter(({ name }) => name === 'MotionNotify');
    expect(moves.length).toBeGreaterThan(5);
    const release = probe.events.find(({ name }) => name === 'ButtonRelease');
    expect([release?.rootx, release?.rooty]).toEqual([220, 120]);
  });

  test.each([
    ['up', 4],
    ['down', 5],
    ['left', 6],
    ['right', 7],
  ])('the wheel turns %s by as many clicks as asked', async (direction, button) => {
    await hand.do('scroll', { coordinate: [70, 70], scroll_direction: direction, scroll_amount: 3 });
    expect(await words(6)).toEqual(Array.from({ length: 3 }, () => [`press ${button}`, `release ${button}`]).flat());
  });

  test.each([
    ['Return', ['key 36', 'up 36']],
    ['return', ['key 36', 'up 36']],
    ['ENTER', ['key 36', 'up 36']],
    ['ctrl+s', ['key 37', 'key 39', 'up 39', 'up 37']],
    ['ctrl+C', ['key 37', 'key 54', 'up 54', 'up 37']],
    ['A', ['key 50', 'key 38', 'up 38', 'up 50']],
    ['ctrl++', ['key 37', 'key 50', 'key 21', 'up 21', 'up 50', 'up 37']],
    ['Page_Down', ['key 117', 'up 117']],
    [' ', ['key 65', 'up 65']],
    ['alt+x', ['key 64', 'key 53', 'up 53', 'up 64']],
    ['Down Down', ['key 116', 'up 116', 'key 116', 'up 116']],
  ])('the chord %j is pressed in order and released backwards', async (text, events) => {
    await hand.do('key', { text });
    expect(await words(events.length)).toEqual(events);
  });

  test('a repeated key is pressed that many times', async () => {
    await hand.do('key', { text: 'x', repeat: 5 });
    expect((await words(10)).filter((word) => word.startsWith('key'))).toHaveLength(5);
  });

  test('a key is held for as long as asked', async () => {
    const before = performance.now();
    await hand.do('hold_key', { text: 'shift', duration: 0.2 });
    expect(performance.now() - before).toBeGreaterThan(195);
    expect(await words(2)).toEqual(['key 50', 'up 50']);
  });

  test('waiting does nothing for that long', async () => {
    const before = performance.now();
    await hand.do('wait', { duration: 0.1 });
    expect(performance.now() - before).toBeGreaterThan(95);
    expect(probe.words()).toEqual([]);
  });

  test('a key that nobody knows presses nothing, alone or around a click', async () => {
    expect(await hand.fault('key', { text: 'ctrl+hyperdrive' })).toBe('unknown_key');
    expect(await hand.fault('left_click', { coordinate: [5, 5], text: 'nokey' })).toBe('unknown_key');
    expect(await hand.fault('hold_key', { text: '漢', duration: 0 })).toBe('unknown_key');
    await hand.do('key', { text: 'z' });
    expect(await words(2)).toEqual(['key 52', 'up 52']);
  });

  test.each([
    ['left_click', { coordinate: [1280, 10] }],
    ['left_click', { coordinate: [10, 800] }],
    ['mouse_move', { coordinate: [-1, 10] }],
    ['left_click_drag', { start_coordinate: [10, 10], coordinate: [10, 900] }],
    ['scroll', { coordinate: [2000, 1], scroll_direction: 'up', scroll_amount: 1 }],
    ['zoom', { region: [0, 0, 1281, 100] }],
    ['zoom', { region: [100, 100, 100, 200] }],
  ])('%s outside of the frame does nothing: %j', async (member, input) => {
    expect(await hand.fault(member, input)).toBe('outside_frame');
    expect(probe.words()).toEqual([]);
  });

  test('a stopped action lets go of keys and buttons, and the next one starts after that', async () => {
    const ends = new AbortController();
    const held = hand.fault('hold_key', { text: 'ctrl+alt', duration: 60 }, ends.signal);
    await expect.poll(() => probe.words()).toEqual(['key 37', 'key 64']);
    ends.abort();
    await held;
    const drag = new AbortController();
    const dragged = hand.fault(
      'left_click_drag',
      { start_coordinate: [10, 10], coordinate: [300, 200], text: 'shift' },
      drag.signal,
    );
    await expect.poll(() => probe.words()).toContain('press 1');
    drag.abort();
    await hand.do('key', { text: 'q' });
    await dragged;
    expect(await words(10)).toEqual([
      ...['key 37', 'key 64', 'up 64', 'up 37'],
      ...['key 50', 'press 1', 'release 1', 'up 50'],
      ...['key 24', 'up 24'],
    ]);
  });

  test('every member of the toolset is done here', async () => {
    const inputs: Readonly<Record<string, Record<string, unknown>>> = {
      zoom: { region: [0, 0, 100, 100] },
      left_click_drag: { start_coordinate: [1, 1], coordinate: [9, 9] },
      mouse_move: { coordinate: [5, 5] },
      scroll: { scroll_direction: 'up', scroll_amount: 0 },
      type: { text: 'a' },
      key: { text: 'a' },
      hold_key: { text: 'a', duration: 0 },
      wait: { duration: 0 },
    };
    for (const member of Object.keys(computerMembers)) {
      const { screen } = await hand.do(member, inputs[member] ?? {});
      expect(screen).toEqual({ width: 1280, height: 800, scale: 1, frame_width: 1280, frame_height: 800 });
    }
  });
});
