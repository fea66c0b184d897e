/**
 * The live view of a display: a JPEG when something on it has changed, and the pointer's position. X reports what changed (DAMAGE); ffmpeg encodes in
 * a separate process, so that no click waits for a picture (measured: 12 ms there, 50 ms in JavaScript). Must not know who watches.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as later } from 'node:timers/promises';
import { type Point, pictureSize, type Size, toImage } from '../../../contracts/computer-use/frame.ts';
import { HandsFault } from '../hands.ts';
import type { Display } from './display.ts';
import { grab } from './picture.ts';

/** 1 to 31 of ffmpeg; smaller is better. Letters are sharp at 5. */
const quality = 5;

interface WatchDeps {
  readonly display: Display;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onFrame: (jpeg: Uint8Array, size: Size) => void;
  /** In the frame. */
  readonly onPointer: (at: Point) => void;
}

/** Runs until the signal; throws when the display goes, and {@link PackerGone} when ffmpeg does or is not there. */
export async function watchDisplay(
  { display, env, onFrame, onPointer }: WatchDeps,
  fps: number,
  signal: AbortSignal,
): Promise<void> {
  const { damage, client, root } = display;
  const changes = damage === null ? null : client.AllocID();
  let changed = true;
  let before: Buffer | null = null;
  const off = display.onEvent((event) => {
    if (event.name === 'DamageNotify' && event.damage === changes) changed = true;
  });
  if (damage !== null) damage.Create(changes!, root, damage.ReportLevel.NonEmpty);

  let packer: Packer | null = null;
  let pointer: Point = { x: -1, y: -1 };
  try {
    for (let settled = false; !signal.aborted; ) {
      const began = performance.now();
      const screen = display.screen();
      if (packer?.width !== screen.width || packer.height !== screen.height) {
        packer?.close();
        packer = createPacker(screen, env, onFrame);
        changed = true;
      }
      if (changed || !settled) {
        // The packer gives a picture when the next one comes: what stays is sent twice.
        settled = !changed;
        if (changed && damage !== null) damage.Subtract(changes!, 0, 0);
        changed = false;
        if (!settled || before === null)
          before = await grab(display, { x: 0, y: 0, width: screen.width, height: screen.height });
        await packer.push(before);
      } else if (damage === null) {
        const now = await grab(display, { x: 0, y: 0, width: screen.width, height: screen.height });
        changed = before === null || !now.equals(before);
      }
      const at = toImage(screen, await display.pointer());
      if (at.x !== pointer.x || at.y !== pointer.y) onPointer(at);
      pointer = at;
      await later(Math.max(1, 1000 / fps - (performance.now() - began)), undefined, { signal }).catch(() => {});
    }
  } finally {
    off();
    packer?.close();
    if (damage !== null) damage.Destroy(changes!);
  }
}

export class PackerGone extends HandsFault {
  constructor() {
    const message = 'The live view of a desktop needs ffmpeg, which is not installed here or has ended.';
    super('device', 'display_unavailable', message);
  }
}

interface Packer extends Size {
  /** Resolves when the next one may come. Throws once ffmpeg has ended. */
  push(raw: Buffer): Promise<void>;
  close(): void;
}

function createPacker(size: Size, env: WatchDeps['env'], onFrame: WatchDeps['onFrame']): Packer {
  const frame = pictureSize(size);
  const child: ChildProcess = spawn(
    'ffmpeg',
    [
      ...['-hide_banner', '-loglevel', 'error', '-fflags', 'nobuffer', '-probesize', '32', '-analyzeduration', '0'],
      ...[
        '-f',
        'rawvideo',
        '-pixel_format',
        'bgr0',
        '-video_size',
        `${size.width}x${size.height}`,
        '-framerate',
        '100',
      ],
      ...['-i', 'pipe:0', '-vf', `scale=${frame.width}:${frame.height}:flags=area,format=yuvj420p`],
      ...['-threads', '1', '-c:v', 'mjpeg', '-q:v', String(quality), '-fps_mode', 'passthrough'],
      ...['-flush_packets', '1', '-f', 'image2pipe', 'pipe:1'],
    ],
    { env: { PATH: env.PATH, HOME: env.HOME }, stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const [stdin, stdout] = [child.stdin!, child.stdout!];
  let ended = false;
  const end = () => {
    ended = true;
  };
  child.once('error', end);
  child.once('exit', end);
  stdin.on('error', end);
  let rest: Buffer = Buffer.alloc(0);
  stdout.on('data', (data: Buffer) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    // Nothing inside of a picture reads like its end: bytes of 255 are followed by 0 there.
    for (let at = rest.indexOf('ffd9', 'hex'); at >= 0; at = rest.indexOf('ffd9', 'hex')) {
      onFrame(rest.subarray(0, at + 2), frame);
      rest = rest.subarray(at + 2);
    }
  });
  return {
    ...size,
    push: (raw) =>
      new Promise((resolve, reject) => {
        const gone = () => reject(new PackerGone());
        if (ended) gone();
        else stdin.write(raw, (error) => (error ? gone() : resolve()));
      }),
    close() {
      stdin.destroy();
      child.kill('SIGKILL');
    },
  };
}
