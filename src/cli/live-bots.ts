/** Bots that have a live terminal on this computer, counted and stopped over the runtime's own routes. */
import type { FactoryClient } from './connect.ts';

interface LiveBot {
  readonly address: string;
  /** Null for one that another computer brought. */
  readonly team: string | null;
}

export async function liveBots(factory: FactoryClient): Promise<LiveBot[]> {
  const [{ agents }, { guests }] = await Promise.all([factory.listAgents(), factory.listGuests()]);
  return [
    ...agents
      .filter((agent) => agent.pane !== null && agent.runner === 'local')
      .map(({ address, team }) => ({ address, team })),
    ...guests.filter((guest) => guest.pane !== null).map(({ address }) => ({ address, team: null })),
  ];
}

/** Stops them all and answers their addresses. */
export async function stopLiveBots(factory: FactoryClient): Promise<string[]> {
  const live = await liveBots(factory);
  const teams = [...new Set(live.map((bot) => bot.team).filter((team) => team !== null))];
  const stopped: string[] = [];
  for (const name of teams) {
    const answer = await factory.teamDown({ params: { name }, query: { here: '1' } });
    if ('stopped' in answer) stopped.push(...answer.stopped);
  }
  if (live.some((bot) => bot.team === null)) {
    const answer = await factory.stopGuests({ body: {} });
    if ('stopped' in answer) stopped.push(...answer.stopped);
  }
  return stopped;
}
