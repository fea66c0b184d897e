import { expect, test } from 'vitest';
import { botEnvironment, personEnvironment } from '../../../src/runtime-server/harness/environment.ts';
import { botSpec } from './bench-of-one.ts';

const bot = botSpec({
  agentId: 'agent_1',
  harness: 'claude',
  env: { FOO: 'team', GANTRY_AGENT: 'forged', TERM_PROGRAM: 'team' },
});
const paths = { urlFile: '/u', tokenFile: '/t', workspace: '/w', gantry: ['gantry'], folder: '/f' };

test('marks of a surrounding agent, terminal, npm run or Gantry do not reach a bot; what a person set does', () => {
  const kept = personEnvironment({
    CLAUDECODE: '1',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    CLAUDE_CODE_SSE_PORT: '1',
    CLAUDE_CODE_USE_BEDROCK: '1',
    CLAUDE_CODE_OAUTH_TOKEN: 'mine',
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: 'https://proxy',
    TMUX: '/tmp/x',
    TERM_PROGRAM: 'iTerm.app',
    npm_config_prefix: '/x',
    GANTRY_TOKEN_FILE: '/secret',
    ELECTRON_RUN_AS_NODE: '1',
    BASH_ENV: '/x',
    NONE: undefined,
    PATH: '/bin',
  });
  expect(kept).toEqual({
    CLAUDE_CODE_USE_BEDROCK: '1',
    CLAUDE_CODE_OAUTH_TOKEN: 'mine',
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: 'https://proxy',
    PATH: '/bin',
  });
});

test('the team file wins over the adapter, and the doors of Gantry win over all', () => {
  const env = botEnvironment({ FOO: 'mine', LANG: 'de_DE.UTF-8' }, bot, paths, { TERM_PROGRAM: 'ghostty', FOO: 'own' });
  expect(env).toEqual({
    LANG: 'de_DE.UTF-8',
    TERM: 'xterm-256color',
    COLORTERM: 'truecolor',
    TERM_PROGRAM: 'team',
    FOO: 'team',
    GANTRY_URL_FILE: '/u',
    GANTRY_TOKEN_FILE: '/t',
    GANTRY_SPOOL: '/f/spool',
    GANTRY_WORKSPACE: '/w',
    GANTRY_AGENT: 'agent_1',
    GANTRY_TEAM: 'dev',
  });
});

test('without any locale a bot gets one that knows UTF-8', () => {
  expect(botEnvironment({}, bot, paths).LANG).toBe('C.UTF-8');
});
