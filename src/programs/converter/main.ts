/**
 * The conversion program: documents in on stdin, Markdown out on stdout, one after the other, until stdin ends. Started by the
 * runtime with Node's permission model: it may read its own files and nothing else. What a document does to it ends with it.
 */
import { Console } from 'node:console';
import { registerHooks } from 'node:module';
import { Worker } from 'node:worker_threads';
import { createFrameReader, frames } from '../../kit/process/frames.ts';
import { type Conversion, type ConvertRequest, convert } from './convert.ts';
import { ConvertFault, saidBy } from './format.ts';
import { largestInput } from './limits.ts';
import { type AnswerHead, maxHeadLength, type RequestHead, type Step, type StepHead } from './protocol.ts';
import { watchSource } from './watch.ts';

// Stdout carries only answers: libraries that print warnings print them to stderr.
globalThis.console = new Console(process.stderr, process.stderr);

/** This Node's permission model does not cover the network, so its modules and globals are removed. No library needs one. */
const closed = new Set([
  'net',
  'http',
  'https',
  'http2',
  'dgram',
  'tls',
  'dns',
  'dns/promises',
  'child_process',
  'cluster',
  'inspector',
  // Native, for drawing pages: pdf.js takes it where it finds it, and reads text without.
  '@napi-rs/canvas',
]);
for (const name of ['fetch', 'WebSocket', 'EventSource'] as const) Reflect.deleteProperty(globalThis, name);
registerHooks({
  resolve(specifier, context, next) {
    if (closed.has(specifier.replace(/^node:/, '')))
      throw new Error(`${specifier} is not there in the conversion program.`);
    return next(specifier, context);
  },
});

// Runs in a separate thread: a document that blocks this one forever must not outlive the runtime or fill the memory.
new Worker(watchSource, { eval: true, workerData: { parent: process.ppid } }).unref();

/** Milliseconds. */
const stepEveryMs = 200;

let busy = Promise.resolve();
const take = createFrameReader<RequestHead>({ head: maxHeadLength, body: largestInput }, (head, body) => {
  busy = busy.then(() => answer(head, body));
});
process.stdin.on('data', (chunk: Buffer) => take(chunk));
process.stdin.on('end', () => process.exit(0));

async function answer(head: RequestHead, body: Uint8Array): Promise<void> {
  const onStep = head.follow ? sparingly((step) => void send({ size: 0, step })) : undefined;
  const request: ConvertRequest = { ...head, family: head.family as ConvertRequest['family'], onStep };
  const resident = () => process.memoryUsage.rss();
  try {
    const { markdown, ...document } = await convert(body, request, () => performance.now());
    const bytes = Buffer.from(markdown);
    await send({ size: bytes.length, document: plain(document), resident: resident() }, bytes);
  } catch (error) {
    await send({ size: 0, fault: faultOf(error), resident: resident() });
  }
}

/** A person follows no more than that. */
function sparingly(tell: (step: Step) => void): (step: Step) => void {
  let told = Number.NEGATIVE_INFINITY;
  return (step) => {
    const now = performance.now();
    if (now - told < stepEveryMs) return;
    told = now;
    tell(step);
  };
}

async function send(head: AnswerHead | StepHead, body?: Uint8Array): Promise<void> {
  for (const piece of frames(head, body)) await write(piece);
}

function plain({
  kind,
  family,
  mimeType,
  charset,
  metadata,
  notes,
}: Omit<Conversion, 'markdown'>): NonNullable<AnswerHead['document']> {
  return { kind, family, mimeType, charset, metadata, notes };
}

function faultOf(error: unknown): NonNullable<AnswerHead['fault']> {
  if (error instanceof ConvertFault) return { code: error.code, fact: error.fact, action: error.action };
  return {
    code: 'damaged',
    fact: `The document could not be read${saidBy(error)}.`,
    action: 'Get it again, or save it again in its program.',
  };
}

function write(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())));
}
