/** Any agent that speaks ACP: its team file says which. What is known of some is in `known-agents.ts`. */
import type { Program } from '../program.ts';

export const acpProgram = {
  command: null,
  package: null,
  install: null,
  signIn: null,
  settings: null,
  conversations: null,
  promises: {
    via: 'protocol',
    witness: ['acp'],
    asks: { by: 'protocol', answered: 'inbox', about: 'what its own settings say' },
    usage: null,
    resume: 'session/load',
    exempt: {
      usage: 'tokens that an agent may report are not counted',
      draft: 'there is no composer, so nobody can leave a half-typed message there',
    },
  },
  accounts:
    'Its sign-in is that of the agent that its command starts; set the agent’s variable in `env` of the team file.',
} satisfies Program;
