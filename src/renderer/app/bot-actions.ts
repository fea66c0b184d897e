/** An action for each bot, which opens its pane. Made while the palette is open: there may be thousands of bots, and each of their states is news. */
import { useMemo } from 'react';
import type { Action } from '../base/actions.ts';
import type { PlacedBot } from '../base/data/places.ts';
import { useBots, useFloors } from '../base/floors.tsx';
import { dispatchWindowEvent } from '../base/window-events.ts';

/** By the bot as it was last read, so that one whose state changes does not cost an action for every other. */
function createBotActions(several: boolean): (bot: PlacedBot) => Action {
  const made = new WeakMap<PlacedBot, Action>();
  return (bot) => {
    const before = made.get(bot);
    if (before !== undefined) return before;
    const action: Action = {
      id: `open-${bot.id}`,
      title: several ? `Open ${bot.address} on ${bot.place.name}` : `Open ${bot.address}`,
      thing: bot.address,
      group: 'Bots',
      run: () =>
        dispatchWindowEvent('platform:factory-attach-pane', {
          paneId: bot.pane?.id ?? bot.id,
          botId: bot.id,
          originView: 'floor',
        }),
    };
    made.set(bot, action);
    return action;
  };
}

export function useBotActions(): readonly Action[] {
  const bots = useBots();
  const several = useFloors().length > 1;
  const actionOf = useMemo(() => createBotActions(several), [several]);
  return useMemo(() => bots.map(actionOf), [bots, actionOf]);
}
