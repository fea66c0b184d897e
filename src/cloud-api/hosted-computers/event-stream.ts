/** Events of a computer as a stream: first the stored ones, then new ones, whichever process stores them. Must not know their meaning. */
import type { SseSink } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { type ComputerStore, topicOf } from './store.ts';

export interface EventStream {
  /** Strictly after that index, until the reader leaves or the computer is deleted and all its events were sent. */
  follow(computerId: string, after: number, sink: SseSink): void;
}

const pageRows = 200;
/** The longest delay that a lost wake causes. */
const lookMs = 5_000;

export function createEventStream(
  store: Pick<SharedStore, 'wake'>,
  computers: Pick<ComputerStore, 'events' | 'get'>,
  onFault: (fault: unknown) => void,
): EventStream {
  async function run(id: string, from: number, sink: SseSink): Promise<void> {
    let after = from;
    while (!sink.signal.aborted) {
      let woken = () => {};
      // Subscribe before reading, so that no event stored in between is missed.
      const next = new Promise<void>((resolve) => {
        woken = resolve;
      });
      const off = store.wake.on(topicOf(id), woken);
      try {
        const events = await computers.events(id, after, pageRows);
        for (const event of events) {
          sink.send({ id: String(event.index), data: event });
          after = event.index;
        }
        await sink.drained();
        if (events.length === pageRows) continue;
        const row = await computers.get(id);
        if (row === null || (row.phase === 'deleted' && after + 1 >= row.nextEvent)) return sink.close();
        if (after + 1 < row.nextEvent) continue;
        await Promise.race([next, store.wake.wait(topicOf(id), lookMs, sink.signal)]);
      } finally {
        off();
      }
    }
  }

  return {
    follow(id, after, sink) {
      run(id, after, sink).catch((fault: unknown) => {
        onFault(fault);
        // The client reconnects with the last index that it saw.
        sink.close();
      });
    },
  };
}
