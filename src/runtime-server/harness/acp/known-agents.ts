/** Agent programs that are known to speak ACP: how each is started, and what else must be known of it. A team file names one instead of its command. */
import type { HarnessName } from '../../../contracts/factory/agent.ts';
import type { Program } from '../program.ts';

interface KnownAgent {
  /** The command that a team file means by the name. */
  readonly command: string;
  readonly install: string;
  /** The harness whose sign-in, settings and conversations it shares; null: it has its own. */
  readonly harness: Exclude<HarnessName, 'acp'> | null;
  readonly keeps?: Program['keeps'];
  /** The mode in which it asks a person; where it begins in another one, a classifier of its own answers in their place. */
  readonly asksIn?: string;
  /** The editors that it is made for report a missing file as empty. Told that a file is missing, it does not create it. */
  readonly missingIsEmpty?: true;
  /** Ways to sign in without a person, by the variable that must be set for each. */
  readonly signIns: readonly { readonly variable: string; readonly method: string }[];
}

const knownAgents: Readonly<Record<string, KnownAgent>> = {
  gemini: {
    command: 'gemini --acp',
    install: 'npm install -g @google/gemini-cli',
    harness: 'gemini',
    asksIn: 'default',
    missingIsEmpty: true,
    signIns: [{ variable: 'GEMINI_API_KEY', method: 'gemini-api-key' }],
  },
  qwen: {
    command: 'qwen --acp',
    install: 'npm install -g @qwen-code/qwen-code',
    harness: 'qwen',
    asksIn: 'default',
    signIns: [{ variable: 'OPENAI_API_KEY', method: 'openai' }],
  },
  copilot: {
    command: 'copilot --acp --stdio',
    install: 'npm install -g @github/copilot',
    harness: 'copilot',
    signIns: [],
  },
  claude: {
    command: 'claude-agent-acp',
    install: 'npm install -g @agentclientprotocol/claude-agent-acp',
    harness: 'claude',
    asksIn: 'default',
    signIns: [],
  },
  codex: {
    command: 'codex-acp',
    install: 'npm install -g @agentclientprotocol/codex-acp',
    harness: 'codex',
    asksIn: 'workspace-write',
    signIns: [
      { variable: 'CODEX_API_KEY', method: 'codex-api-key' },
      { variable: 'OPENAI_API_KEY', method: 'openai-api-key' },
    ],
  },
  opencode: {
    command: 'opencode acp',
    install: 'npm install -g opencode-ai',
    harness: 'opencode',
    signIns: [],
  },
  goose: {
    command: 'goose acp',
    install: 'see https://block.github.io/goose',
    harness: null,
    keeps: { folders: ['.config/goose', '.local/share/goose'], files: [], elsewhere: {}, reports: [] },
    signIns: [],
  },
};

/** What runs for the `command` of a team file. */
export function acpCommand(command: string): string {
  return knownAgents[command.trim()]?.command ?? command;
}

/** The known agent that a command starts, by the name of its program. */
export function knownAgentOf(command: string | null): KnownAgent | null {
  const program = command === null ? undefined : programIn(command);
  return Object.values(knownAgents).find((agent) => programIn(agent.command) === program) ?? null;
}

function programIn(command: string): string | undefined {
  return command.trim().split(/\s/, 1)[0]?.split('/').at(-1);
}
