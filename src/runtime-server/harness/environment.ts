/**
 * The environment of a bot's program: the person's own, without what a surrounding agent, terminal or npm run left there, plus
 * Gantry's `GANTRY_*` variables. Must not know a harness.
 */
import { join } from 'node:path';
import type { BotPaths, BotSpec } from './harness.ts';

/**
 * Marks that a surrounding agent leaves on its children; a child that sees them believes it runs inside that agent.
 * Settings that a person makes (`CLAUDE_CODE_USE_BEDROCK`, `CLAUDE_CODE_OAUTH_TOKEN`, `ANTHROPIC_*`) are not marks and stay.
 */
const agentMarks = new Set([
  'AI_AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_EXECPATH',
  'CLAUDE_CODE_REMOTE',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_ENV_FILE',
  'CLAUDE_PROJECT_DIR',
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'CODEX_THREAD_ID',
  'COPILOT_AGENT_SESSION_ID',
  'COPILOT_CLI',
  'GEMINI_CLI',
  'OPENCODE',
  'OPENCODE_PID',
  'OPENCODE_SERVER_PASSWORD',
  'QWEN_CODE',
]);
/** Names of the terminal or multiplexer around us: our pane is neither, and programs would talk to the wrong one. */
const terminalMarks = new Set([
  'COLORTERM',
  'COLUMNS',
  'ITERM_SESSION_ID',
  'KITTY_LISTEN_ON',
  'KITTY_PID',
  'KITTY_WINDOW_ID',
  'LC_TERMINAL',
  'LC_TERMINAL_VERSION',
  'LINES',
  'STY',
  'TERM',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'TERM_SESSION_ID',
  'TMUX',
  'TMUX_PANE',
  'VTE_VERSION',
  'WEZTERM_PANE',
  'WINDOWID',
  'WT_SESSION',
  'ZELLIJ',
  'ZELLIJ_SESSION_NAME',
]);
/** Variables left by how Gantry was started: by npm, Electron as Node, a test runner, shell start files. */
const startMarks = new Set([
  'BASH_ENV',
  'ELECTRON_RUN_AS_NODE',
  'ENV',
  'INIT_CWD',
  'OLDPWD',
  'PROMPT_COMMAND',
  'SHLVL',
  '_',
]);
const startPrefixes = ['npm_', 'GANTRY_', 'VITEST'];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The person's variables without those marks. */
export function personEnvironment(env: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || agentMarks.has(name) || terminalMarks.has(name) || startMarks.has(name)) continue;
    if (startPrefixes.some((prefix) => name.startsWith(prefix))) continue;
    kept[name] = value;
  }
  return kept;
}

/**
 * The whole environment of a bot's program. `own` are the adapter's settings; team.yaml overrides them, and Gantry's variables override all.
 * `GANTRY_PANE` is set where the pane's id is chosen.
 */
export function botEnvironment(
  env: Environment,
  bot: BotSpec,
  paths: BotPaths,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const whole = personEnvironment(env);
  const person = Object.fromEntries(Object.entries(whole).filter(([name]) => bot.without?.includes(name) !== true));
  const locale: Record<string, string> = person.LC_ALL || person.LC_CTYPE || person.LANG ? {} : { LANG: 'C.UTF-8' };
  return {
    ...person,
    ...locale,
    TERM: 'xterm-256color',
    COLORTERM: 'truecolor',
    ...own,
    ...bot.env,
    GANTRY_URL_FILE: paths.urlFile,
    GANTRY_TOKEN_FILE: paths.tokenFile,
    // Without a spool, what a bot reports while the engine is away is lost.
    ...(env.GANTRY_SPOOL === 'off' ? {} : { GANTRY_SPOOL: join(paths.folder, 'spool') }),
    GANTRY_WORKSPACE: paths.workspace,
    GANTRY_AGENT: bot.agentId,
    GANTRY_TEAM: bot.team,
  };
}
