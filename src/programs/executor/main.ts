/**
 * The executor program: the wire on stdin and stdout, this computer's browser and desktop behind it. It ends when its stdin ends, and ends everything
 * that it started.
 */
import { Console } from 'node:console';
import { createFrameReader, frames } from '../../kit/process/frames.ts';
import { createBrowser } from './browser/create-browser.ts';
import { createDesktop } from './desktop/create-desktop.ts';
import { createProgram } from './program.ts';
import { type EventHead, maxHeadLength, type RequestHead } from './protocol.ts';

/** Bytes that may wait for the reader before frames of a live view are left out. */
const behind = 4 * 1024 * 1024;
/** Milliseconds for browsers to end on their own. */
const endMs = 3000;

// Stdout carries only frames: libraries that print warnings print them to stderr.
globalThis.console = new Console(process.stderr, process.stderr);

const program = createProgram({
  send: (head, body) => {
    const isFrame = (head as Partial<EventHead>).event === 'frame';
    if (isFrame && process.stdout.writableLength >= behind) return false;
    process.stdout.cork();
    for (const piece of frames(head, body)) process.stdout.write(piece);
    process.stdout.uncork();
    return process.stdout.writableLength < behind;
  },
  browser: (deps) => createBrowser({ ...deps, env: process.env }),
  desktop: (deps) => createDesktop({ ...deps, env: process.env }),
});

const take = createFrameReader<RequestHead>({ head: maxHeadLength, body: 0 }, (head) => program.take(head));
process.stdin.on('data', (chunk: Buffer) => take(chunk));
process.stdin.on('end', end);
process.on('SIGTERM', end);
// Nobody reads any more: the other end is gone.
process.stdout.on('error', end);

function end(): void {
  setTimeout(() => process.exit(0), endMs).unref();
  void program.close().then(() => process.exit(0));
}
