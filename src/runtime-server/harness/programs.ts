/** The harnesses by name. The types compare the list with the contract: a missing folder, or one without conversations that can be adopted, fails. */
import type { Adoptable } from '../../contracts/factory/adopt-routes.ts';
import { type HarnessName, harnesses } from '../../contracts/factory/agent.ts';
import type { Conversations } from './conversations.ts';
import * as folders from './folders.ts';
import type { Harness } from './program.ts';

export const programs: Readonly<Record<HarnessName, Harness>> &
  Readonly<Record<Adoptable, { readonly conversations: Conversations }>> = folders;

export const settingsOfPrograms = harnesses.flatMap((name) => programs[name].settings ?? []);
