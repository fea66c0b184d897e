// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { connectDisplay } from '../../../../src/programs/executor/desktop/display.ts';
import { createKeyboard } from '../../../../src/programs/executor/desktop/keyboard.ts';
import { buttons, createPointer } from '../../../../src/programs/executor/desktop/pointer.ts';
import type { Fault, ProgramEvent } from '../../../../src/programs/executor/protocol.ts';
import { filmPictures } from '../../../../src/programs/executor/video.ts';
import { createHand, createLab, createProbe, type Hand, type Lab, missing } from './lab.ts';

const place = { kind: 'desktop' } as const;
const withoutFfmpeg = spawnSync('sh', ['-c', 'command -v ffmpeg ffprobe']).status !== 0;
if (withoutFfmpeg) console.warn('Live view and videos are not tested: ffmpeg is not installed here.');

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});
async function lab(size: string, number?: number): Promise<Lab> {
  const one = await createLab(size, number === undefined ? {} : { number });
  running.push(one);
  return one;
}
function hand(env: NodeJS.ProcessEnv, platform?: NodeJS.Platform): Hand {
  const one = createHand(env, platform);
  running.push({ stop: () => one.desktop.close() });
  return one;
}
const kinds = ({ events }: Hand) => events.map(({ event }) => event);

/** Red, green, blue of one pixel of a PNG of ours, which has no filters. */
function pixel(png: Uint8Array, x: number, y: number): number[] {
  const file = Buffer.from(png);
  const width = file.readUInt32BE(16);
  const rows = inflateSync(file.subarray(41, 41 + file.readUInt32BE(33)));
  const at = y * (width * 3 + 1) + 1 + x * 3;
  return [...rows.subarray(at, at + 3)];
}

test.each<[string, NodeJS.ProcessEnv, NodeJS.Platform, string]>([
  ['macOS', { DISPLAY: ':0' }, 'darwin', 'macOS'],
  ['Windows', {}, 'win32', 'Windows'],
  ['Wayland without X', { WAYLAND_DISPLAY: 'wayland-0' }, 'linux', 'XWayland'],
  ['no display', {}, 'linux', 'DISPLAY is not set'],
  ['a display that is not there', { DISPLAY: ':987' }, 'linux', ':987 cannot be reached'],
  ['a display that cannot be', { DISPLAY: 'what' }, 'linux', 'what cannot be reached'],
])('%s answers display_unavailable and says why', async (_, env, platform, words) => {
  const one = hand(env, platform);
  const answers = [
    () => one.do('screenshot'),
    () => one.desktop.look({ do: 'look', place, member: 'screenshot', input: {} }),
    () => one.desktop.watch(place, 5),
    () => one.desktop.record(place, join(tmpdir(), 'never.webm'), false),
  ];
  for (const answer of answers) {
    const fault = await answer().then(
      () => null,
      (error: { fault: Fault }) => error.fault,
    );
    expect(fault).toMatchObject({ sort: 'device', code: 'display_unavailable' });
    expect(fault?.message).toContain(words);
  }
});

describe.skipIf(missing !== null)('a display', () => {
  test('larger than a frame is shown and hit in the frame', async () => {
    const large = await lab('2560x1440');
    const probe = await createProbe(large, { x: 1000, y: 600, width: 400, height: 200 });
    running.push({ stop: async () => probe.close() });
    const one = hand(large.env);
    const { image, bytes, screen } = await one.do('screenshot');
    expect(screen).toEqual({ width: 2560, height: 1440, scale: 2, frame_width: 1280, frame_height: 720 });
    expect(image).toMatchObject({ width: 1280, height: 720 });
    // The probe's window, and what lies beside it.
    expect(pixel(bytes!, 501, 301)).toEqual([0x33, 0x66, 0x99]);
    expect(pixel(bytes!, 698, 398)).toEqual([0x33, 0x66, 0x99]);
    expect(pixel(bytes!, 498, 298)).not.toEqual([0x33, 0x66, 0x99]);
    await one.do('left_click', { coordinate: [600, 350] });
    await expect.poll(() => probe.words()).toEqual(['press 1', 'release 1']);
    const press = probe.events.find(({ name }) => name === 'ButtonPress');
    expect([press?.rootx, press?.rooty]).toEqual([1201, 701]);
    expect((await one.do('cursor_position')).text).toBe('X=600,Y=350');
    await one.do('mouse_move', { coordinate: [0, 0] });
    const zoomed = await one.do('zoom', { region: [500, 300, 532, 320] });
    expect(zoomed.image).toEqual({ media_type: 'image/png', width: 1280, height: 800 });
    expect(pixel(zoomed.bytes!, 640, 400)).toEqual([0x33, 0x66, 0x99]);
  });

  test('shows its pointer in the picture', async () => {
    const small = await lab('640x480');
    const one = hand(small.env);
    await one.do('mouse_move', { coordinate: [100, 100] });
    const here = (await one.do('screenshot')).bytes!;
    await one.do('mouse_move', { coordinate: [300, 300] });
    const there = (await one.do('screenshot')).bytes!;
    expect(pixel(here, 101, 104)).not.toEqual(pixel(there, 101, 104));
  });

  test('that goes away ends what is under way, is said once, and is used again when it is back', async () => {
    const first = await lab('640x480');
    const number = Number(first.display.slice(1));
    const one = hand(first.env);
    await one.do('mouse_move', { coordinate: [5, 5] });
    const waiting = one.fault('type', { text: 'ö' });
    await first.kill();
    expect(await waiting).toBe('display_unavailable');
    expect(await one.fault('screenshot')).toBe('display_unavailable');
    expect(kinds(one).filter((kind) => kind === 'gone')).toEqual(['gone']);
    await lab('800x600', number);
    expect((await one.do('left_click', { coordinate: [20, 20] })).screen.width).toBe(800);
  });

  test('on which an executor died has no key and no button down for the next one', async () => {
    const one = await lab('640x480');
    const probe = await createProbe(one);
    running.push({ stop: async () => probe.close() });
    const dying = await connectDisplay(one.env, 'linux');
    const keyboard = createKeyboard(dying);
    keyboard.press((await keyboard.layout()).chord('ctrl+shift'));
    createPointer(dying).press(buttons.left);
    await dying.pointer();
    dying.close();
    await hand(one.env).do('screenshot');
    await expect
      .poll(() => probe.words().toSorted())
      .toEqual(['key 37', 'key 50', 'press 1', 'release 1', 'up 37', 'up 50']);
  });

  test('lets go of a button that was left down when whoever drives is stopped, and at the end', async () => {
    const one = await lab('640x480');
    const probe = await createProbe(one);
    running.push({ stop: async () => probe.close() });
    const first = createHand(one.env);
    await first.do('left_mouse_down');
    await first.desktop.letGo!();
    await expect.poll(() => probe.words()).toEqual(['press 1', 'release 1']);
    await first.do('left_mouse_down');
    await first.desktop.close();
    await expect.poll(() => probe.words()).toEqual(['press 1', 'release 1', 'press 1', 'release 1']);
  });
});

describe.skipIf(missing !== null)('somebody else at the pointer', () => {
  async function driven() {
    const one = await lab('640x480');
    const probe = await createProbe(one);
    running.push({ stop: async () => probe.close() });
    const other = await connectDisplay(one.env, 'linux');
    running.push({ stop: async () => other.close() });
    const mouse = createPointer(other);
    const move = async (x: number, y: number) => {
      mouse.move({ x, y });
      await other.pointer();
    };
    const driver = hand(one.env);
    await driver.do('mouse_move', { coordinate: [50, 50] });
    return { probe, driver, move };
  }

  test('is noticed by itself, once', async () => {
    const { driver, move } = await driven();
    await move(90, 90);
    await expect.poll(() => kinds(driver)).toContain('elsewhere');
    await move(91, 90);
    await driver.do('screenshot');
    expect(kinds(driver).filter((kind) => kind === 'elsewhere')).toHaveLength(1);
  });

  test('is noticed before the next action, which is not done; the one after that is', async () => {
    const { driver, probe, move } = await driven();
    await move(90, 90);
    const clicked = await driver.fault('left_click', { coordinate: [60, 60] });
    // The look that comes by itself may have been first; then this click was asked for after the word of it.
    if (clicked === 'cancelled') {
      expect(probe.words()).toEqual([]);
      await driver.do('left_click', { coordinate: [60, 60] });
    }
    expect(kinds(driver)).toContain('elsewhere');
    await expect.poll(() => probe.words()).toEqual(['press 1', 'release 1']);
  });

  test('does not keep anybody from looking', async () => {
    const { driver, move } = await driven();
    await move(90, 90);
    expect(await driver.fault('screenshot')).toBe('done');
    expect(await driver.fault('cursor_position')).toBe('done');
  });
});

describe.skipIf(missing !== null || withoutFfmpeg)('the live view of a display', () => {
  const pictures = (events: readonly ProgramEvent[]) => events.filter(({ event }) => event === 'frame');

  test('is a picture at first, one when something changed, none while nothing does', async () => {
    const one = await lab('1600x900');
    const viewer = hand(one.env);
    await viewer.desktop.watch(place, 20);
    await expect.poll(() => viewer.frames.length).toBeGreaterThan(0);
    const [first] = pictures(viewer.events);
    expect(first).toMatchObject({ width: 1280, height: 720 });
    expect([...viewer.frames[0]!.subarray(0, 2)]).toEqual([0xff, 0xd8]);
    expect([...viewer.frames[0]!.subarray(-2)]).toEqual([0xff, 0xd9]);
    const settled = async () => {
      for (let before = -1; before !== viewer.frames.length; ) {
        before = viewer.frames.length;
        // The display is looked at 20 times a second: after so long without a picture, nothing changes any more.
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      return viewer.frames.length;
    };
    const still = await settled();
    const probe = await createProbe(one);
    running.push({ stop: async () => probe.close() });
    await expect.poll(() => viewer.frames.length).toBeGreaterThan(still);
    await viewer.do('mouse_move', { coordinate: [10, 10] });
    await expect.poll(() => viewer.events.some((event) => event.event === 'pointer' && event.x === 10)).toBe(true);
    await viewer.desktop.watch(place, 0);
    const ended = await settled();
    probe.close();
    expect(await settled()).toBe(ended);
  });

  test('says once that there is none without ffmpeg', async () => {
    const one = await lab('640x480');
    const viewer = hand({ ...one.env, PATH: one.home });
    await viewer.desktop.watch(place, 20);
    await expect.poll(() => kinds(viewer)).toContain('gone');
    expect(viewer.events.find(({ event }) => event === 'gone')).toMatchObject({
      fault: { code: 'display_unavailable', message: expect.stringContaining('ffmpeg') },
    });
    // A second try after a second would say it again.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(kinds(viewer).filter((kind) => kind === 'gone')).toHaveLength(1);
    expect(viewer.frames).toEqual([]);
  });

  test('goes on when the display is back', async () => {
    const first = await lab('640x480');
    const viewer = hand(first.env);
    await viewer.desktop.watch(place, 20);
    await expect.poll(() => viewer.frames.length).toBeGreaterThan(0);
    await first.kill();
    await expect.poll(() => kinds(viewer)).toContain('gone');
    await lab('800x600', Number(first.display.slice(1)));
    await expect.poll(() => viewer.events.some((event) => event.event === 'frame' && event.width === 800)).toBe(true);
  });
});

describe.skipIf(missing !== null || withoutFfmpeg)('a video', () => {
  const told = (file: string) =>
    JSON.parse(
      spawnSync('ffprobe', [
        ...['-v', 'error', '-count_frames', '-of', 'json', '-show_entries'],
        ...['format=duration:stream=codec_name,width,height,nb_read_frames', file],
      ]).stdout.toString(),
    ) as {
      streams: { codec_name: string; width: number; height: number; nb_read_frames: string }[];
      format: { duration: string };
    };

  test('of a display is whole when it was stopped', async () => {
    const one = await lab('1600x900');
    const filmed = hand(one.env);
    const file = join(one.home, 'run.webm');
    expect(await filmed.desktop.record(place, file, false)).toBeNull();
    await filmed.do('wait', { duration: 1.5 });
    expect(await filmed.desktop.record(place, file, true)).toBe(file);
    const { streams, format } = told(file);
    expect(streams[0]).toMatchObject({ codec_name: 'vp8', width: 1280, height: 720 });
    expect(Number(format.duration)).toBeGreaterThan(0.5);
  });

  test('of pictures lasts as long as what it shows', async () => {
    const one = await lab('640x480');
    const viewer = hand(one.env);
    await viewer.desktop.watch(place, 20);
    await expect.poll(() => viewer.frames.length).toBeGreaterThan(0);
    const jpeg = viewer.frames[0]!;
    const file = join(one.home, 'pictures.webm');
    const film = filmPictures(file, one.env, () => 4000);
    film.picture(jpeg, 1000);
    film.picture(jpeg, 2500);
    expect(await film.finish()).toBe(file);
    const { streams, format } = told(file);
    expect(streams[0]).toMatchObject({ codec_name: 'vp8', width: 640, height: 480 });
    expect(Number(format.duration)).toBeCloseTo(3, 0);
  });

  test('without ffmpeg, of nothing, or after the display went, is none and leaves none', async () => {
    const one = await lab('640x480');
    const bin = join(one.home, 'bin');
    mkdirSync(bin);
    symlinkSync('/bin/sh', join(bin, 'sh'));
    chmodSync(bin, 0o755);
    const file = join(one.home, 'none.webm');
    const without = filmPictures(file, { PATH: bin }, () => 0);
    without.picture(Buffer.from([0xff, 0xd8, 0xff, 0xd9]), 0);
    expect(await without.finish()).toBeNull();
    expect(await filmPictures(file, one.env, () => 0).finish()).toBeNull();
    const filmed = hand(one.env);
    await filmed.desktop.record(place, file, false);
    expect(await filmed.desktop.record(place, join(one.home, 'another.webm'), true)).toBeNull();
    await filmed.desktop.close();
    expect(existsSync(join(one.home, 'another.webm'))).toBe(false);
  });
});
