/** What a bot is called now among all that are there; one that is gone, by what is known of it. */
import { useBots } from '../../app/floors.tsx';
import { botName } from '../../data/places.ts';

export function useNameOfBot(): (id: string, known?: string) => string {
  const bots = useBots();
  return (id, known = id) => {
    const bot = bots.find((one) => one.id === id);
    return bot === undefined ? known : botName(bot, bots);
  };
}
