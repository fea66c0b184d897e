/** bash as a bot. */
import type { Program } from '../program.ts';

export const shellProgram = {
  command: 'bash',
  package: null,
  install: 'Install bash 4.4 or newer with your package manager',
  signIn: null,
  settings: null,
  conversations: null,
  accounts: 'It has no sign-in.',
} satisfies Program;
