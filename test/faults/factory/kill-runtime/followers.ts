/** Clients that follow streams through every kill and cut: one connection at a time, resumed where the last one ended. */
import { setTimeout as delay } from 'node:timers/promises';
import { CallError, type Caller, type SseEvent, type SseStream } from '../../../support/bench/http.ts';

const pauseMs = 15;

export interface Follower<T> {
  /** Stops and answers what was seen. */
  close(): Promise<T>;
}

/** Keeps a stream open until closed; `open` is called again after every end. */
function keepOpen(open: () => Promise<SseStream>): () => Promise<void> {
  let closed = false;
  let stream: SseStream | null = null;
  const following = (async () => {
    while (!closed) {
      try {
        stream = await open();
        if (closed) stream.close();
        await stream.ended;
      } catch {
        // The runtime is down, or the connection was cut before the first byte.
      }
      await delay(pauseMs);
    }
  })();
  return async () => {
    closed = true;
    stream?.close();
    await following;
  };
}

/** Ids of all events since the ledger's beginning, as they arrived. */
export function followEvents(caller: Caller): Follower<readonly string[]> {
  const seen: string[] = [];
  const onEvent = ({ id }: SseEvent) => {
    if (id !== null) seen.push(id);
  };
  const stop = keepOpen(() => caller.events('/api/factory/events?after=0', onEvent, seen.at(-1)));
  return {
    close: async () => {
      await stop();
      return seen;
    },
  };
}

/** Text of a pane, read piece by piece by cursor. */
export function followTranscript(caller: Caller, agent: string): Follower<string> {
  let text = '';
  let cursor: string | null = null;
  let closed = false;
  const read = async () => {
    const query = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const path = `/api/factory/agents/${agent}/transcript${query}`;
    const answer = await caller.call<{ chunks: { text: string }[]; next: string | null }>('GET', path);
    for (const chunk of answer.chunks) text += chunk.text;
    cursor = answer.next ?? cursor;
    return answer.chunks.length > 0;
  };
  const following = (async () => {
    while (!closed) {
      await read().catch(() => false);
      await delay(50);
    }
  })();
  return {
    close: async () => {
      closed = true;
      await following;
      while (await read());
      return text;
    },
  };
}

/** The connection goes through what cuts it: asked until an answer came whole. */
async function uncut<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof CallError || tries === 20) throw error;
      await delay(pauseMs);
    }
  }
}

interface ScreenData {
  readonly revision: number;
  readonly ansi: string;
}

/** Screens of a pane: never an older one after a newer one, and in the end the one that is there. */
export function followScreens(caller: Caller, agent: string): Follower<readonly string[]> {
  const problems: string[] = [];
  let last: ScreenData | null = null;
  const onEvent = ({ event, data }: SseEvent) => {
    if (event === 'gone') problems.push(`screen stream: gone (${JSON.stringify(data)}) while the pane lives`);
    if (event !== 'screen') return;
    const screen = data as ScreenData;
    if (last !== null && screen.revision < last.revision) {
      problems.push(`screen stream: revision ${screen.revision} after ${last.revision}`);
    }
    last = screen;
  };
  const stop = keepOpen(() => caller.events(`/api/factory/agents/${agent}/stream`, onEvent));
  return {
    close: async () => {
      const now = await uncut(() => caller.call<ScreenData>('GET', `/api/factory/agents/${agent}/screen`));
      // A stream that was cut a moment ago is given time to come back.
      for (let tries = 0; tries < 100 && last?.ansi !== now.ansi; tries += 1) await delay(20);
      if (last?.ansi !== now.ansi) problems.push('screen stream: the last screen is not the one that is there');
      await stop();
      return problems;
    },
  };
}
