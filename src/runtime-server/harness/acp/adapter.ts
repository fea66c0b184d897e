/**
 * The `acp` harness: an agent that speaks the Agent Client Protocol over its standard streams. Owns how its program is started; the conversation with it
 * is held by `acp-bots`, so there is no terminal, no screen to judge and nothing to type into.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Adapter, Surroundings } from '../adapter.ts';
import { botEnvironment } from '../environment.ts';
import { findProgram } from '../find-program.ts';
import type { Launch } from '../harness.ts';
import type { Ruleset } from '../judge/rules.ts';
import type { Harness } from '../program.ts';
import { knownAgentOf } from './known-agents.ts';
import { acpProgram } from './program.ts';

const rules: Ruleset = {
  harness: 'acp',
  version: 'acp/1',
  covers: null,
  authority: 'hook',
  unclearAfterMs: null,
  interrupt: { keys: [] },
  screen: [],
  events: [],
};

export const acp = { ...acpProgram, adapter: createAcpAdapter } satisfies Harness;

function createAcpAdapter({ env, processes }: Surroundings): Adapter {
  return {
    ruleset: rules,
    async prepare(bot, paths, memory) {
      const address = `${bot.slug}@${bot.team}`;
      const { command } = bot;
      if (command === null) {
        const fact = `${address} has the harness "acp" but no command.`;
        throw new AppError('usage', fact, 'Give it `command:` in team.yaml, such as gemini.');
      }
      // As a person writes it in team.yaml: words, quotes, variables. The program replaces the shell at once.
      const shell = await findProgram('sh', env.PATH);
      if (shell === null)
        throw new AppError('usage', 'sh was not found on PATH.', 'Put sh on PATH, then start the team again.');
      const launchEnv = botEnvironment(env, bot, paths);
      const isSimple = /^[\w./:@%+=,-]+( [\w./:@%+=,-]+)*$/.test(command);
      if (isSimple) {
        const word = command.split(' ')[0] ?? '';
        const options = { cwd: bot.cwd, env: launchEnv, input: null, timeoutMs: 5000 };
        const ran = await processes.run([shell, '-c', 'command -v -- "$1"', 'sh', word], options);
        if (ran.code !== 0 && !ran.timedOut) {
          const install = knownAgentOf(command)?.install;
          const mend = install === undefined ? 'Install it' : `Install it (${install})`;
          const fact = `The command "${word}" of ${address} was not found.`;
          throw new AppError('usage', fact, `${mend}, or correct \`command:\` in team.yaml.`);
        }
      }
      const words: Launch['command'] = [shell, '-c', isSimple ? `exec ${command}` : command];
      return { launch: { command: words, cwd: bot.cwd, env: launchEnv, cols: 120, rows: 40 }, facts: memory };
    },
    drive(context) {
      throw new Error(`${context.bot.slug}@${context.bot.team} speaks ACP and has no terminal.`);
    },
  };
}
