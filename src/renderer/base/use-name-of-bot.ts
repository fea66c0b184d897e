/** What a bot is called now among all that are there; one that is gone, by what is known of it. */

import { botName } from './data/places.ts';
import { useBots } from './floors.tsx';

export function useNameOfBot(): (id: string, known?: string) => string {
  const bots = useBots();
  return (id, known = id) => {
    const bot = bots.find((one) => one.id === id);
    return bot === undefined ? known : botName(bot, bots);
  };
}
