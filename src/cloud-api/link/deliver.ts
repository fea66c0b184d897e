/** Passes a computer's answer to the caller, unread. Must not know routes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { baseHeaders, documentHeaders } from '../../kit/http/base-headers.ts';

/** Response headers. An answer is read under our own address: a computer may set no cookie there, open nothing to other sites and run no page. */
const answerHeaders = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'retry-after',
  'allow',
  'x-accel-buffering',
] as const;
const policy = 'content-security-policy';
const noPage = { [policy]: "default-src 'none'; sandbox" };

/** Node's own for the end of a response. They go with it, and its warning is about listeners that only grow in number. */
const listenersOfPipeline = 7;

/** Bytes as they come, without an end or timeout of ours: a stream may last for ever. */
export function deliver(
  answer: IncomingMessage,
  { response }: { readonly response: ServerResponse },
  through?: Transform,
): Promise<void> {
  // The caller left just as the answer came.
  if (response.destroyed) {
    answer.destroy();
    return Promise.resolve();
  }
  const headers: Record<string, string> = { ...baseHeaders };
  for (const name of answerHeaders) {
    const value = answer.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  // A document may have its own style and pictures; whatever else a computer asks for, it does not get.
  const shown = answer.headers[policy] === documentHeaders[policy] ? documentHeaders : noPage;
  response.writeHead(answer.statusCode ?? 502, { ...headers, ...shown });
  response.flushHeaders();
  response.setMaxListeners(response.getMaxListeners() + listenersOfPipeline);
  return new Promise((resolve) => {
    // A cut upstream cuts the reader too: it must see that something is missing.
    if (through === undefined) pipeline(answer, response, () => resolve());
    else pipeline(answer, through, response, () => resolve());
  });
}
