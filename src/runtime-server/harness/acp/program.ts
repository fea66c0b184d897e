/** Any agent that speaks ACP: its team file says which. What is known of some is in `known-agents.ts`. */
import type { Program } from '../program.ts';

export const acpProgram = {
  command: null,
  package: null,
  install: null,
  signIn: null,
  settings: null,
  conversations: null,
} satisfies Program;
