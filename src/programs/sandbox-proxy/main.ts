/** The proxy program: its wire on stdin and stdout. It ends when its stdin ends, and every connection with it. */
import { Console } from 'node:console';
import { createFrameReader, frames } from '../../kit/process/frames.ts';
import { maxHeadLength, type OrderHead } from './protocol.ts';
import { createSandboxProxy } from './server.ts';

// Stdout carries only frames.
globalThis.console = new Console(process.stderr, process.stderr);

const proxy = createSandboxProxy({
  send: (event) => {
    for (const piece of frames({ ...event, size: 0 })) process.stdout.write(piece);
  },
});
const take = createFrameReader<OrderHead>({ head: maxHeadLength, body: 0 }, (head) => proxy.take(head));
process.stdin.on('data', (chunk: Buffer) => take(chunk));
process.stdin.on('end', end);
process.on('SIGTERM', end);
// Nobody reads any more: the runtime is gone.
process.stdout.on('error', end);

function end(): void {
  process.exit(0);
}
