/**
 * What agents show, and the seats of live bots, which report it: a change is written and told to listeners. Must not know panes, or where a bot runs.
 */
import type { Base } from '../base/base.ts';
import type { AgentStateChange } from '../events/event-tail.ts';
import type { BotState } from '../harness/harness.ts';
import type { Entry } from './entries.ts';
import { paneOf } from './member.ts';
import type { Shown } from './model.ts';
import type { PlacedBot, Seat } from './placement.ts';
import { marked } from './restarting.ts';
import { saveShown } from './store/agents.ts';

export type Seats = ReturnType<typeof createSeats>;

export function createSeats(
  deps: Pick<Base, 'store' | 'clock' | 'log'> & {
    /** Its state while a limit holds it. */
    readonly shownHeld?: ((agentId: string, own: Shown) => Shown) | undefined;
  },
) {
  const stateListeners = new Set<(change: AgentStateChange) => void>();
  const gateListeners = new Set<(agentId: string) => void>();

  /** Rows are written in the background; a crash loses only what is judged again from the pane. */
  function behind(what: string, written: Promise<unknown>) {
    written.catch((error: unknown) => deps.log.warn(`${what} could not be written.`, { error: String(error) }));
  }
  function tell(entry: Entry) {
    const change = { agentId: entry.id, state: entry.shown.state, pane: paneOf(entry) };
    for (const listener of stateListeners) listener(change);
  }
  function show(entry: Entry, judged: Shown) {
    const own = marked(entry, judged);
    entry.own = own;
    const shown = deps.shownHeld?.(entry.id, own) ?? own;
    entry.shown = shown;
    behind(
      `The state of ${entry.address}`,
      deps.store.write((tx) => saveShown(tx, entry.id, shown)),
    );
    tell(entry);
  }
  function openGate(entry: Entry) {
    for (const listener of gateListeners) listener(entry.id);
  }

  function place(entry: Entry, bot: PlacedBot): Seat {
    entry.release();
    entry.live = true;
    entry.bot = bot;
    const showState = ({ state, reason, since }: BotState) => show(entry, { state, reason, since });
    const offState = bot.onState(showState);
    const offGate = bot.onGate(() => openGate(entry));
    entry.release = () => {
      offState();
      offGate();
      bot.close();
      entry.bot = null;
      entry.release = () => {};
    };
    return {
      isTaken: () => entry.bot === bot,
      show: showState,
      openGate: () => openGate(entry),
      end(reason) {
        if (entry.bot !== bot) return;
        entry.release();
        entry.live = false;
        show(entry, { state: 'offline', reason, since: deps.clock.now() });
      },
    };
  }

  return {
    behind,
    tell,
    show,
    openGate,
    place,
    onState(listener: (change: AgentStateChange) => void) {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    onGate(listener: (agentId: string) => void) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
  };
}
