/** The agents over ACP that `acp.ts` plays: where they come from, and how each is led to the scripted model server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, type Script, text, tools } from '../support/model-server/script.ts';
import type { ModelServer } from '../support/model-server/server.ts';

interface Place {
  readonly home: string;
  readonly work: string;
}

interface AcpPlay {
  /** As a team file names it. */
  readonly agent: string;
  readonly package: string;
  readonly version: string;
  /** The program that must be there after its install. */
  readonly program: string;
  readonly script: (place: Place) => Script;
  readonly env: (model: ModelServer) => Record<string, string>;
  readonly setUp?: (place: Place & { readonly model: ModelServer }) => void;
}

/** Words that differ: some agents take repeated ones for a loop. */
const counting = Array.from({ length: 300 }, (_, at) => `slow${at * 7} `).join('');

/** By what the message asks for; after a tool an end. */
const script =
  (ways: { run: ModelReply; write: (work: string) => ModelReply }) =>
  ({ work }: Place): Script =>
  ({ lastUser, toolResults }) => {
    if (toolResults.length > 0 && !lastUser.includes('From owner')) return text('The tool ran.');
    if (lastUser.includes('Reply with ONLY')) return text('{}');
    if (lastUser.includes('RUNSHELL')) return ways.run;
    if (lastUser.includes('WRITE')) return ways.write(work);
    if (lastUser.includes('SLOW')) return text(counting, { pieces: 200, pauseMs: 100 });
    return text('A plain answer.', { pieces: 10, pauseMs: 30 });
  };

const google = script({
  run: tools({ name: 'run_shell_command', input: { command: 'touch made && ls', description: 'Make a file' } }),
  write: (work) => tools({ name: 'write_file', input: { file_path: join(work, 'second'), content: 'words\n' } }),
});

const anthropic = script({
  run: tools({ name: 'Bash', input: { command: 'touch made && ls', description: 'Make a file' } }),
  write: (work) => tools({ name: 'Write', input: { file_path: join(work, 'second'), content: 'words\n' } }),
});

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
    script: google,
    env: (model) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model.url }),
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
    script: google,
    env: (model) => ({ OPENAI_API_KEY: 'scripted', OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: 'fake-1' }),
  },
  {
    agent: 'claude',
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    program: 'claude-agent-acp',
    script: anthropic,
    env: (model) => ({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'scripted' }),
  },
];
