/** The agents over ACP that `acp.ts` plays: where they come from, and how each is led to the scripted model server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, type Script, text, tools } from '../support/model-server/script.ts';
import type { ModelServer } from '../support/model-server/server.ts';

interface Place {
  readonly home: string;
  readonly work: string;
}

export interface AcpPlay {
  /** As a team file names it. */
  readonly agent: string;
  readonly package: string;
  readonly version: string;
  /** The program that must be there after its install. */
  readonly program: string;
  readonly tools: Tools;
  readonly env: (model: Pick<ModelServer, 'url'>) => Record<string, string>;
  /** It changes files of its folder without a question. */
  readonly changesUnasked?: true;
  /** It cannot continue a session, though it says that it can. */
  readonly forgets?: true;
  readonly setUp?: (place: Place & { readonly model: Pick<ModelServer, 'url'> }) => void;
}

/** Words that differ: some agents take repeated ones for a loop. */
const counting = Array.from({ length: 300 }, (_, at) => `slow${at * 7} `).join('');

/** The calls of an agent's own tools. */
interface Tools {
  readonly run: (command: string) => ModelReply;
  readonly write: (work: string) => ModelReply;
}

/** By what the message asks for; after a tool an end. */
export const scriptOf =
  ({ run, write }: Tools) =>
  ({ work }: Place): Script =>
  ({ lastUser, toolResults }) => {
    if (toolResults.length > 0 && !lastUser.includes('From owner')) return text('The tool ran.');
    if (lastUser.includes('Reply with ONLY')) return text('{}');
    if (lastUser.includes('RUNSHELL')) return run('touch made && ls');
    if (lastUser.includes('WRITE')) return write(work);
    if (lastUser.includes('SLOW')) return text(counting, { pieces: 200, pauseMs: 100 });
    return text('A plain answer.', { pieces: 10, pauseMs: 30 });
  };

const description = 'Make a file';
const google: Tools = {
  run: (command) => tools({ name: 'run_shell_command', input: { command, description } }),
  write: (work) => tools({ name: 'write_file', input: { file_path: join(work, 'second'), content: 'words\n' } }),
};

const anthropic: Tools = {
  run: (command) => tools({ name: 'Bash', input: { command, description } }),
  write: (work) => tools({ name: 'Write', input: { file_path: join(work, 'second'), content: 'words\n' } }),
};

const github: Tools = {
  run: (command) => tools({ name: 'bash', input: { command, description } }),
  write: (work) => tools({ name: 'create', input: { path: join(work, 'second'), file_text: 'words\n' } }),
};

const patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: second\n+words\n*** End Patch\nEOF";
const openai: Tools = {
  run: (cmd) =>
    tools({
      name: 'exec_command',
      input: { cmd, justification: 'to make a file', sandbox_permissions: 'require_escalated' },
    }),
  write: () => tools({ name: 'exec_command', input: { cmd: patch } }),
};

const codexConfig = (url: string) => `model = "fake-1"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
`;

const geminiSettings = {
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
  ide: { enabled: false },
};

export const plays: readonly AcpPlay[] = [
  {
    agent: 'gemini',
    package: '@google/gemini-cli',
    version: '0.61.0',
    program: 'gemini',
    // As it loads a session it first writes an empty one over it.
    forgets: true,
    tools: google,
    // Otherwise it asks a model which model to ask.
    env: ({ url }) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: url, GEMINI_MODEL: 'gemini-2.5-flash' }),
    setUp({ home }) {
      mkdirSync(join(home, '.gemini'));
      writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(geminiSettings));
    },
  },
  {
    agent: 'qwen',
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    program: 'qwen',
    tools: google,
    env: (model) => ({ OPENAI_API_KEY: 'scripted', OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: 'fake-1' }),
  },
  {
    agent: 'claude',
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    program: 'claude-agent-acp',
    tools: anthropic,
    env: (model) => ({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'scripted' }),
  },
  {
    agent: 'codex',
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    program: 'codex-acp',
    changesUnasked: true,
    tools: openai,
    // Under the folder for temporary files, where this home is, it makes no programs for its sandbox.
    env: () => ({ SCRIPTED_KEY: 'scripted', TMPDIR: '/var/tmp' }),
    setUp({ home, model }) {
      mkdirSync(join(home, '.codex'));
      writeFileSync(join(home, '.codex', 'config.toml'), codexConfig(model.url));
    },
  },
  {
    agent: 'copilot',
    package: '@github/copilot',
    version: '1.0.102',
    program: 'copilot',
    tools: github,
    env: (model) => ({
      COPILOT_PROVIDER_BASE_URL: `${model.url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'scripted',
      COPILOT_MODEL: 'fake-1',
      COPILOT_OFFLINE: 'true',
    }),
  },
];
