/** The harnesses that Gantry knows, as data: how a person installs each and signs in, and where its version is found. */
import type { HarnessName } from '../../contracts/factory/agent.ts';

export interface CatalogueEntry {
  readonly name: HarnessName;
  /** Program looked up on PATH; null: no program is needed. */
  readonly program: string | null;
  /** npm package whose version is the harness's. */
  readonly package: string | null;
  readonly install: string | null;
  readonly signIn: string | null;
  /** Any of these variables signs in. */
  readonly keys: readonly string[];
  /** Any of these files under the home folder means signed in. */
  readonly files: readonly string[];
  /** True where a sign-in may be stored somewhere unreadable to us (a keychain). */
  readonly hidden: boolean;
}

const keychain = process.platform === 'darwin';

export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'shell',
    program: 'bash',
    package: null,
    install: 'Install bash 4.4 or newer with your package manager',
    signIn: null,
    keys: [],
    files: [],
    hidden: false,
  },
  {
    name: 'claude',
    program: 'claude',
    package: '@anthropic-ai/claude-code',
    install: 'npm install -g @anthropic-ai/claude-code',
    signIn: 'claude auth login',
    keys: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
    ],
    files: ['.claude/.credentials.json'],
    hidden: keychain,
  },
  {
    name: 'codex',
    program: 'codex',
    package: '@openai/codex',
    install: 'npm install -g @openai/codex',
    signIn: 'codex login',
    keys: [],
    files: ['.codex/auth.json'],
    hidden: true,
  },
  {
    name: 'gemini',
    program: 'gemini',
    package: '@google/gemini-cli',
    install: 'npm install -g @google/gemini-cli',
    signIn: 'gemini',
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI'],
    files: ['.gemini/oauth_creds.json'],
    hidden: true,
  },
  {
    name: 'opencode',
    program: 'opencode',
    package: 'opencode-ai',
    install: 'npm install -g opencode-ai',
    signIn: 'opencode auth login',
    keys: [],
    files: ['.local/share/opencode/auth.json'],
    hidden: true,
  },
  {
    name: 'qwen',
    program: 'qwen',
    package: '@qwen-code/qwen-code',
    install: 'npm install -g @qwen-code/qwen-code',
    signIn: 'qwen',
    keys: ['OPENAI_API_KEY'],
    files: ['.qwen/oauth_creds.json'],
    hidden: true,
  },
  {
    name: 'custom',
    program: null,
    package: null,
    install: null,
    signIn: null,
    keys: [],
    files: [],
    hidden: false,
  },
];
