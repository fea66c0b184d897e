/**
 * Videos by this computer's ffmpeg, as WebM that browsers play: of pictures with their times, or of an X display. Without ffmpeg there are no videos,
 * and nothing is left behind. Must not know who records what.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';

/** Frames per second of every video. */
const rate = 10;
/** Milliseconds for ffmpeg to write the end; it is ended then. */
const finishMs = 5000;
/** The same picture again at most so often: a pause of an hour is not an hour of still. */
const maxStillFrames = 60 * rate;
/** Bytes that may wait for the encoder; frames beyond are left out. */
const maxWaiting = 16 * 1024 * 1024;

type Environment = Readonly<Record<string, string | undefined>>;

export interface Video {
  /** Settles when nothing more can be filmed: no ffmpeg, or it has ended. */
  readonly ended: Promise<void>;
  /** The file once it is complete; null if there is none. */
  finish(): Promise<string | null>;
}
export interface PictureVideo extends Video {
  /** A JPEG that is seen from then on. Milliseconds on any clock that only goes forward. */
  picture(jpeg: Uint8Array, at: number): void;
}

/** Even numbers of pixels, at most the frame's longer edge: encoders want both. */
const shape = 'scale=w=min(1280\\,trunc(iw/2)*2):h=-2';
const encoder = [
  ...['-an', '-vf', shape, '-pix_fmt', 'yuv420p', '-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'],
  ...['-threads', '1', '-b:v', '1500k', '-crf', '20', '-g', '100', '-f', 'webm'],
] as const;

/** Filming begins with the first picture and ends `now` of {@link Video.finish}, the last one shown until then. */
export function filmPictures(file: string, env: Environment, now: () => number): PictureVideo {
  const input = ['-f', 'image2pipe', '-c:v', 'mjpeg', '-framerate', String(rate), '-i', 'pipe:0'];
  const film = start(file, input, env);
  let last: Uint8Array | null = null;
  let began = 0;
  let written = 0;

  /** The last picture, as often as it takes to be at `at`. */
  function fill(at: number): void {
    if (last === null) return;
    const due = Math.round(((at - began) / 1000) * rate);
    const missing = Math.min(due - written, maxStillFrames);
    for (let one = 0; one < missing; one += 1) if (film.stdin.writableLength < maxWaiting) film.stdin.write(last);
    written = Math.max(written, due);
  }

  return {
    ended: film.ended,
    picture(jpeg, at) {
      if (last === null) began = at;
      else fill(at);
      last = jpeg;
    },
    finish() {
      if (last !== null) {
        fill(now());
        film.stdin.write(last);
      }
      film.stdin.end();
      return film.file(last !== null);
    },
  };
}

/** The whole display that `env` names. */
export function filmDisplay(file: string, env: Environment): Video {
  const input = ['-f', 'x11grab', '-draw_mouse', '1', '-framerate', String(rate), '-i', env.DISPLAY ?? ''];
  const film = start(file, input, env);
  return {
    ended: film.ended,
    finish() {
      // Its word for the end: the file is closed properly.
      film.stdin.end('q');
      return film.file(true);
    },
  };
}

function start(
  file: string,
  input: readonly string[],
  env: Environment,
): { stdin: Writable; ended: Promise<void>; file(expected: boolean): Promise<string | null> } {
  const child: ChildProcess = spawn(
    'ffmpeg',
    ['-hide_banner', '-loglevel', 'error', '-y', ...input, ...encoder, file],
    {
      env: { PATH: env.PATH, HOME: env.HOME, DISPLAY: env.DISPLAY, XAUTHORITY: env.XAUTHORITY },
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  const stdin = child.stdin!;
  stdin.on('error', () => {});
  let failed = false;
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => {
      failed = true;
      resolve();
    });
    child.once('exit', () => resolve());
  });
  return {
    stdin,
    ended,
    async file(expected) {
      const late = setTimeout(() => child.kill('SIGKILL'), finishMs);
      await ended;
      clearTimeout(late);
      const size = expected && !failed && child.exitCode === 0 ? (await stat(file).catch(() => null))?.size : 0;
      if (size) return file;
      await rm(file, { force: true });
      return null;
    },
  };
}
