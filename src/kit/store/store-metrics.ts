/** How long writes to a store take until they are durable, and whether it takes any, for `GET /metrics`. */
import { createSecondsHistogram } from '../metrics/counters.ts';
import type { Metric } from '../metrics/metric.ts';

interface Writable {
  write(operation: never, options?: never): Promise<unknown>;
  trouble(): string | null;
}

/** The same store, with every write timed, and its figures. */
export function measureWrites<Measured extends Writable>(
  store: Measured,
): { readonly store: Measured; readonly metrics: readonly Metric[] } {
  const seconds = createSecondsHistogram(
    'gantry_store_write_seconds',
    'Time until a write to the database was durable, with the time that it waited.',
  );
  const none = {};
  const write = store.write as (...args: readonly unknown[]) => Promise<unknown>;
  const measured = (...args: readonly unknown[]) => {
    const start = performance.now();
    const done = () => seconds.observe(none, (performance.now() - start) / 1000);
    const written = write(...args);
    written.then(done, done);
    return written;
  };
  return {
    store: { ...store, write: measured as Measured['write'] },
    metrics: [
      seconds,
      {
        name: 'gantry_store_refuses_writes',
        help: '1 while the database takes no writes: the disk is full, or the database cannot be reached.',
        kind: 'gauge',
        read: () => (store.trouble() === null ? 0 : 1),
      },
    ],
  };
}
