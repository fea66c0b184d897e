/**
 * The fetch that the SDK's HTTP transport is given: guarded by egress, bounded in bytes, read slowly in a flood. An answer that is too
 * large or cut off fails the request that it answers, where the SDK would wait for its deadline. Must not know tools.
 */
import { ReadableStream } from 'node:stream/web';
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Egress } from '../../../kit/egress/egress.ts';
import { UpstreamFault } from './fault.ts';
import { createPace, type Pace } from './pace.ts';

interface BoundedFetchDeps {
  readonly egress: Pick<Egress, 'fetch'>;
  /** The largest message, bytes. */
  readonly largestMessage: number;
  readonly clock: Clock;
  readonly sleep: (ms: number) => Promise<void>;
  /** A request whose answer will not come: its id, and a sentence. */
  readonly onLost: (id: number, why: string) => void;
  /** It answered 401 or 403. */
  readonly onChallenge: (status: number, wwwAuthenticate: string | null) => void;
}

/** An answer that the SDK has already read must be delivered before it counts as lost. Milliseconds. */
const settleMs = 250;

export function createBoundedFetch(
  deps: BoundedFetchDeps,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const pace = createPace(deps.clock);
  return async (url, init) => {
    const answer = await deps.egress.fetch(url, init);
    const { status, statusText } = answer;
    if (status === 401 || status === 403) deps.onChallenge(status, answer.headers.get('www-authenticate'));
    if (answer.body === null) return answer;
    const streamed = (answer.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
    const body = streamed ? events(deps, pace, answer.body, lostOf(deps, init, status)) : whole(deps, answer.body);
    return new Response(ReadableStream.from(body) as unknown as Body, {
      status,
      statusText,
      headers: [...answer.headers],
    });
  };
}

async function* whole({ largestMessage }: BoundedFetchDeps, body: Body): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > largestMessage) throw tooLarge(largestMessage);
    yield chunk;
  }
}

/** The SDK resumes a stream whose events had ids; one without ids ends, together with the requests that wait for it. */
async function* events(
  { largestMessage, sleep }: BoundedFetchDeps,
  pace: Pace,
  body: Body,
  lost: (why: string) => void,
): AsyncGenerator<Uint8Array> {
  const count = createEventCount();
  let why = 'The server ended the stream without an answer';
  let whole = false;
  try {
    for await (const chunk of body) {
      for (let ended = count.add(chunk); ended > 0; ended -= 1) pace.count();
      if (count.size() > largestMessage) throw tooLarge(largestMessage);
      yield chunk;
      const wait = pace.wait();
      if (wait > 0) await sleep(wait);
    }
    whole = true;
  } catch (error) {
    why = (error as Error).message;
    throw error;
  } finally {
    if (!whole || !count.resumable()) lost(why);
  }
}

type Body = NonNullable<Response['body']>;
const tooLarge = (max: number) => new UpstreamFault('answer', `The server’s answer has more than ${max} bytes`);

/** Reports the request of this body as lost, once the read answers are delivered: an answered one no longer waits. */
function lostOf(deps: BoundedFetchDeps, init: RequestInit | undefined, status: number): (why: string) => void {
  const id =
    status === 200 && typeof init?.body === 'string' ? /"id":(\d+)\}$/.exec(init.body.slice(-64))?.[1] : undefined;
  return (why) => {
    if (id === undefined || init?.signal?.aborted === true) return;
    void deps.sleep(settleMs).then(() => deps.onLost(Number(id), why));
  };
}

/** Where the events of a stream end: at an empty line, whichever way lines end. */
function createEventCount() {
  let size = 0;
  let line = '';
  let resumable = false;
  return {
    size: () => size,
    resumable: () => resumable,
    /** How many events ended in it. */
    add(chunk: Uint8Array): number {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let ended = 0;
      let from = 0;
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
        // The first bytes of a line suffice.
        if (line.length < 3) line += bytes.toString('latin1', from, Math.min(at, from + 3));
        resumable ||= line.startsWith('id:');
        if (line === '' || line === '\r') {
          size = 0;
          ended += 1;
        } else size += at - from;
        line = '';
        from = at + 1;
      }
      if (line.length < 3) line += bytes.toString('latin1', from, Math.min(bytes.length, from + 3));
      size += bytes.length - from;
      return ended;
    },
  };
}
