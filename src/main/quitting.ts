/**
 * How the program ends: once, in order, and within a time limit however its parts behave. Everything that ends the
 * program comes through here: the menu, the last window, a signal, the system's shutdown, an uncaught fault.
 */
const quitLimitMs = 5_000;

interface QuittingDeps {
  /** Servers, feed, tray: each for itself; what fails is no reason to stay. */
  readonly close: () => Promise<void>;
  readonly exit: (code: number) => void;
  readonly onFault: (fault: unknown) => void;
  readonly after: (ms: number, task: () => void) => () => void;
}

interface Quitting {
  /** Idempotent: the first code counts. */
  begin(code: number): void;
  readonly begun: () => boolean;
}

export function createQuitting({ close, exit, onFault, after }: QuittingDeps): Quitting {
  let begun = false;
  return {
    begun: () => begun,
    begin(code) {
      if (begun) return;
      begun = true;
      let over = false;
      const end = (final: number): void => {
        if (over) return;
        over = true;
        forget();
        exit(final);
      };
      const forget = after(quitLimitMs, () => {
        onFault(new Error(`Gantry did not close within ${quitLimitMs} ms.`));
        end(code === 0 ? 70 : code);
      });
      Promise.resolve()
        .then(close)
        .catch(onFault)
        .finally(() => end(code));
    },
  };
}
