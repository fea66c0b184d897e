/** One line on stderr that says how far long work is and disappears when it ends. Nothing is written where nobody looks on. */
import { harmless, span } from './words.ts';

interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Progress {
  /** False: nobody looks on, and nothing is written. */
  readonly shown: boolean;
  /** `done` of `total`, of the same unit; null: nobody knows how much there is, and how long it takes is said. `what` is worked on now. */
  at(done: number, total: number | null, what?: string): void;
  /** Takes the line away. */
  end(): void;
}

const cellsOfBar = 24;
/** More often than this no eye follows. Milliseconds. */
const leastBetween = 80;

export function createProgress(
  stream: Stream | null,
  label: string,
  now: () => number = () => performance.now(),
): Progress {
  if (stream?.isTTY !== true) return { shown: false, at() {}, end() {} };
  const began = now();
  let shown = Number.NEGATIVE_INFINITY;
  let drawn = false;
  /** The bar and what is left, or for how long it has been going on. */
  const measureOf = (done: number, total: number | null, passed: number): string => {
    if (total === null) return span(Math.floor((passed - began) / 1000));
    const part = total > 0 ? Math.min(1, done / total) : 0;
    const full = Math.round(part * cellsOfBar);
    const bar = '━'.repeat(full) + '─'.repeat(cellsOfBar - full);
    // Told once it is worth knowing and there is something to judge by.
    const left = part > 0.05 && part < 1 ? ((passed - began) / part) * (1 - part) : 0;
    const rest = left > 3000 ? `, ${span(Math.ceil(left / 1000))} left` : '';
    return `${bar}  ${Math.floor(part * 100)} %${rest}`;
  };
  return {
    shown: true,
    at(done, total, what = '') {
      const passed = now();
      if (passed - shown < leastBetween && (total === null || done < total)) return;
      shown = passed;
      drawn = true;
      const measure = measureOf(done, total, passed);
      const text = harmless(`${label}  ${measure}${what === '' ? '' : `  ${what}`}`.replaceAll('\n', ' '));
      stream.write(`\r\x1b[K${[...text].slice(0, Math.max(20, (stream.columns || 80) - 1)).join('')}`);
    },
    end() {
      if (drawn) stream.write('\r\x1b[K');
      drawn = false;
    },
  };
}
