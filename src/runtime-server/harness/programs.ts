/** The harnesses by name. The types compare the list with the contract: a missing folder, or one without conversations that can be adopted, fails. */
import type { Adoptable } from '../../contracts/factory/adopt-routes.ts';
import { type HarnessName, harnesses } from '../../contracts/factory/agent.ts';
import { knownAgentOf } from './acp/known-agents.ts';
import type { Conversations } from './conversations.ts';
import * as folders from './folders.ts';
import type { BotSpec } from './harness.ts';
import type { Harness, Program } from './program.ts';

export const programs: Readonly<Record<HarnessName, Harness>> &
  Readonly<Record<Adoptable, { readonly conversations: Conversations }>> = folders;

export const settingsOfPrograms = harnesses.flatMap((name) => programs[name].settings ?? []);

/** The harness whose settings decide what the bot's program runs: over ACP that of the agent that its command starts; null: unknown. */
export function settingsHarnessOf({ harness, command }: Pick<BotSpec, 'harness' | 'command'>): HarnessName | null {
  return harness === 'acp' ? (knownAgentOf(command)?.harness ?? null) : harness;
}

/** What the bot's program keeps for itself. */
export function keptBy(bot: Pick<BotSpec, 'harness' | 'command'>): Program['keeps'] {
  if (bot.harness !== 'acp') return programs[bot.harness].keeps;
  const agent = knownAgentOf(bot.command);
  return agent?.harness == null ? agent?.keeps : programs[agent.harness].keeps;
}
