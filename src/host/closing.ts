/**
 * One `close()` in reverse order of start, within a time limit, so that a part that hangs cannot keep the program
 * alive.
 */

export interface Closing {
  /** Registers how to undo the step just done. */
  add(name: string, undo: () => Promise<unknown> | unknown): void;
  /** Undoes all steps, newest first; one that fails or hangs does not keep the others open. Idempotent. */
  close(): Promise<void>;
}

export function createClosing({
  limitMs,
  onFault,
}: {
  readonly limitMs: number;
  readonly onFault: (name: string, fault: unknown) => void;
}): Closing {
  const steps: { name: string; undo: () => Promise<unknown> | unknown }[] = [];
  let closed: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    const end = performance.now() + limitMs;
    for (const { name, undo } of steps.reverse()) {
      let timer: NodeJS.Timeout | undefined;
      const left = Math.max(50, end - performance.now());
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`did not close within ${Math.round(left)} ms`)), left);
      });
      try {
        await Promise.race([Promise.resolve().then(undo), late]);
      } catch (fault) {
        onFault(name, fault);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  return {
    add: (name, undo) => steps.push({ name, undo }),
    close: () => {
      closed ??= closeAll();
      return closed;
    },
  };
}
