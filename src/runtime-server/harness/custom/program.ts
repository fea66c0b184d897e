/** A program of the person's own: its team file says which. */
import type { Program } from '../program.ts';

export const customProgram = {
  command: null,
  package: null,
  install: null,
  signIn: null,
  settings: null,
  conversations: null,
  accounts: 'Gantry does not know where it keeps its sign-in; set its variable in `env` of the team file.',
} satisfies Program;
