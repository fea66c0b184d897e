/** Computers by the names that people use, as the home cloud reports them. Must not know what is listed beside them. */
import { createClient } from '../client/client.ts';
import { computerRoutes } from '../contracts/link/computers.ts';
import type { Context } from './command.ts';
import { findRunning } from './running.ts';
import { oneLine } from './words.ts';

/** A name is no reason to wait. Milliseconds. */
const patience = 2000;
/** A longer name would push what stands beside it out of the terminal. */
const maxLength = 20;

export type ComputerWords = (machine: string) => string;
interface Named {
  readonly id: string;
  readonly name: string;
}

export async function computerWords(context: Context): Promise<ComputerWords> {
  return wordsOf(await listed(context));
}

/** A computer's name, with the end of its id where two share a name; only the end of the id where the name is unknown. */
export function wordsOf(computers: readonly Named[]): ComputerWords {
  const short = computers.map(({ id, name }) => ({ id, name: oneLine(name, maxLength) }));
  return (machine) => {
    const end = machine.startsWith('computer_') ? `…${machine.slice(-6)}` : oneLine(machine, maxLength);
    const known = short.find(({ id }) => id === machine);
    if (known === undefined) return end;
    return short.some(({ id, name }) => id !== machine && name === known.name) ? `${known.name} ${end}` : known.name;
  };
}

async function listed(context: Context): Promise<readonly Named[]> {
  const { as, token } = await context.connect();
  // A bot has no access there.
  const baseUrl = as === 'bot' ? null : (findRunning(context.env)?.address ?? null);
  if (baseUrl === null) return [];
  const home = createClient(computerRoutes, { baseUrl, token });
  const answer = await home.listComputers({}, { signal: AbortSignal.timeout(patience) }).catch(() => null);
  return answer?.computers ?? [];
}
