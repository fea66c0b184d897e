/**
 * How a started Gantry ends: the servers always stop, the bots only when the person says so. Decides and words it; what
 * is stopped is passed in. Must not know processes or servers.
 */
import { count } from '../words.ts';

/** Within this time after the first Ctrl-C a second one stops the bots, too, ms; the rest of the 5 s closes the servers. */
export const secondChance = 4_300;
/** npm passes on the Ctrl-C that the terminal has sent to us already: signals closer than this are one, ms. */
export const echo = 250;

export interface EndingDeps {
  /** A person sits at this terminal. */
  readonly interactive: boolean;
  /** `--stop-bots` */
  readonly stopBots: boolean;
  /** Names of the commands, for the last line. */
  readonly names: { readonly gantry: string; readonly start: string };
  liveBots(): number;
  /** Ends the servers, and the pane host when no bot is live; the bots first when told so. */
  close(stopBots: boolean): Promise<void>;
  say(text: string): void;
  now(): number;
  after(ms: number, task: () => void): () => void;
}

export type Reason = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'window';

export interface Ending {
  /** A signal came, or the desktop window was closed. */
  ask(reason: Reason): void;
  /** Resolves once all is ended, with the exit code. */
  readonly ended: Promise<number>;
}

export function createEnding(deps: EndingDeps): Ending {
  let first: number | null = null;
  let second: (() => void) | null = null;
  let settle: (code: number) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<number>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });

  async function end(reason: Reason): Promise<number> {
    const live = deps.liveBots();
    let stop = deps.stopBots;
    if (!stop && live > 0 && deps.interactive && reason === 'SIGINT') {
      const bots = count(live, 'bot');
      deps.say(
        `${bots} ${live === 1 ? 'keeps' : 'keep'} running; Ctrl-C again within 4 s stops ${live === 1 ? 'it' : 'them'} too`,
      );
      stop = await askedAgain();
    }
    if (stop && live > 0) deps.say(`Stopping ${count(live, 'bot')} …`);
    await deps.close(stop);
    if (!stop && live > 0) {
      deps.say(
        `${count(live, 'bot')} still running. To see them again: ${deps.names.start}. To stop them: ${deps.names.gantry} stop --all`,
      );
    } else deps.say('Gantry has stopped.');
    return 0;
  }

  function askedAgain(): Promise<boolean> {
    return new Promise((resolve) => {
      const forget = deps.after(secondChance, () => {
        second = null;
        resolve(false);
      });
      second = () => {
        second = null;
        forget();
        resolve(true);
      };
    });
  }

  return {
    ended,
    ask(reason) {
      if (first === null) {
        first = deps.now();
        end(reason).then(settle, fail);
      } else if (reason === 'SIGINT' && deps.now() - first > echo) second?.();
    },
  };
}
