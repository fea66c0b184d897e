/** Finds the bot a person means: by id, by address, or by short name if only one bot has it. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Agent } from '../../contracts/factory/agent.ts';
import { type Context, type Input, text } from '../command.ts';
import type { CommandNames } from '../command-name.ts';
import type { FactoryClient } from '../connect.ts';

/** `not_found` when nobody is meant, `usage` when several are. */
export async function findAgent(factory: FactoryClient, wanted: string, names: CommandNames): Promise<Agent> {
  const { agents } = await factory.listAgents();
  const exact = agents.find((agent) => agent.id === wanted || agent.address === wanted);
  if (exact !== undefined) return exact;
  const named = agents.filter((agent) => agent.slug === wanted);
  if (named.length === 1 && named[0] !== undefined) return named[0];
  if (named.length > 1) {
    const addresses = named.map((agent) => agent.address).join(', ');
    throw new AppError('usage', `Several bots are called ${wanted}: ${addresses}.`, 'Give the full address.');
  }
  throw new AppError(
    'not_found',
    `No bot is called ${JSON.stringify(wanted)}.`,
    `List the bots: ${names.gantry} agents ls`,
  );
}

/** The id of the bot that is given, for a route that names it. */
export async function botId(input: Input, context: Context): Promise<string> {
  const { factory } = await context.connect();
  return (await findAgent(factory, text(input, 'bot'), context.names)).id;
}
