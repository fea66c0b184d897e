/** The conversations of all harnesses in the person's home, the latest first. Must not know bots. */
import { isAbsolute } from 'node:path';
import { type Adoptable, adoptable } from '../../../contracts/factory/adopt-routes.ts';
import type { Conversation, ConversationPlaces } from '../../harness/conversations.ts';
import { programs } from '../../harness/programs.ts';

export interface Kept extends Conversation {
  readonly harness: Adoptable;
}

/** It becomes an argument of its harness, so it must not be an option. */
const name = /^[A-Za-z0-9][A-Za-z0-9_-]{3,127}$/;

export async function storedSessions(
  places: ConversationPlaces,
  wanted: { readonly harness?: Adoptable | undefined; readonly cwd?: string | undefined },
): Promise<Kept[]> {
  const harnesses = wanted.harness === undefined ? adoptable : [wanted.harness];
  const lists = await Promise.all(
    harnesses.map(async (harness) => {
      const list = await programs[harness].conversations.list(places).catch(() => []);
      return list.map((one) => ({ ...one, harness }));
    }),
  );
  return lists
    .flat()
    .filter(({ id, cwd }) => name.test(id) && isAbsolute(cwd) && (wanted.cwd === undefined || cwd === wanted.cwd))
    .sort((a, b) => b.lastUsed - a.lastUsed);
}
