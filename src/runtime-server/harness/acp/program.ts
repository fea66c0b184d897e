/** Any agent that speaks ACP: its team file says which. What is known of some is in `known-agents.ts`. */
import type { Program } from '../program.ts';

export const acpProgram = {
  command: null,
  package: null,
  install: null,
  signIn: null,
  settings: null,
  conversations: null,
  accounts:
    'Its sign-in is that of the agent that its command starts; set the agent’s variable in `env` of the team file.',
} satisfies Program;
