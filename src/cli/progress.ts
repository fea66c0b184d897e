/** One line on stderr that says how far long work is and disappears when it ends. Nothing is written where nobody looks on. */
import { harmless, span } from './words.ts';

interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Progress {
  /** `done` of `total`, of the same unit; `what` is worked on now. */
  at(done: number, total: number, what?: string): void;
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
  if (stream?.isTTY !== true) return { at() {}, end() {} };
  const began = now();
  let shown = Number.NEGATIVE_INFINITY;
  let drawn = false;
  return {
    at(done, total, what = '') {
      const passed = now();
      if (passed - shown < leastBetween && done < total) return;
      shown = passed;
      drawn = true;
      const part = total > 0 ? Math.min(1, done / total) : 0;
      const full = Math.round(part * cellsOfBar);
      const bar = '━'.repeat(full) + '─'.repeat(cellsOfBar - full);
      // Told once it is worth knowing and there is something to judge by.
      const left = part > 0.05 && part < 1 ? ((passed - began) / part) * (1 - part) : 0;
      const rest = left > 3000 ? `, ${span(Math.ceil(left / 1000))} left` : '';
      const text = harmless(
        `${label}  ${bar}  ${Math.floor(part * 100)} %${rest}${what === '' ? '' : `  ${what}`}`.replaceAll('\n', ' '),
      );
      stream.write(`\r\x1b[K${[...text].slice(0, Math.max(20, (stream.columns ?? 80) - 1)).join('')}`);
    },
    end() {
      if (drawn) stream.write('\r\x1b[K');
      drawn = false;
    },
  };
}
