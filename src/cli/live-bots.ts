/** Bots that have a live terminal, counted and stopped team by team over the engine's own routes. */
import type { FactoryClient } from './connect.ts';

export async function liveBots(factory: FactoryClient): Promise<{ address: string; team: string }[]> {
  const { agents } = await factory.listAgents();
  return agents
    .filter((agent) => agent.pane !== null && agent.runner === 'local')
    .map(({ address, team }) => ({ address, team }));
}

/** Stops them all and answers their addresses. */
export async function stopLiveBots(factory: FactoryClient): Promise<string[]> {
  const teams = [...new Set((await liveBots(factory)).map((bot) => bot.team))];
  const stopped: string[] = [];
  for (const name of teams) {
    const answer = await factory.teamDown({ params: { name } });
    if ('stopped' in answer) stopped.push(...answer.stopped);
  }
  return stopped;
}
