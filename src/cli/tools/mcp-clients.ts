/**
 * How to configure a server in the usual MCP clients: the file, its form, and what to do then. Each follows its own documentation, as of November
 * 2026. Data and pure functions; must not know how a server is found.
 */

/** What a client needs to know: an address with a key, or a command. */
export type Reach =
  | { readonly kind: 'http'; readonly url: string; readonly key: string }
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

export interface McpClient {
  /** As it is typed. */
  readonly name: string;
  readonly title: string;
  /** Starts programs, but asks no address with a key. */
  readonly onlyStdio?: true;
  /** The person's own first: those of a project are committed. */
  readonly files: readonly string[];
  /** Puts variables of the environment in place of `${NAME}` in headers. */
  readonly expands?: true;
  readonly format: 'json' | 'toml';
  /** The whole of what belongs to Gantry in that file. */
  readonly config: (server: string, reach: Reach) => Record<string, unknown>;
  /** What to do once it stands there. */
  readonly after: string;
}

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const program = ({ command, args, env }: Extract<Reach, { kind: 'stdio' }>) => ({ command, args, env });

export const mcpClients: readonly McpClient[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    files: ['~/.claude.json for all projects', '.mcp.json in the project'],
    expands: true,
    format: 'json',
    config: (server, reach) => ({
      mcpServers: {
        [server]:
          reach.kind === 'http'
            ? { type: 'http', url: reach.url, headers: bearer(reach.key) }
            : { type: 'stdio', ...program(reach) },
      },
    }),
    after: 'Restart Claude Code and check with /mcp.',
  },
  {
    name: 'claude-desktop',
    title: 'Claude Desktop',
    onlyStdio: true,
    files: [
      '~/Library/Application Support/Claude/claude_desktop_config.json (macOS)',
      '%APPDATA%\\Claude\\claude_desktop_config.json (Windows)',
      '~/.config/Claude/claude_desktop_config.json (Linux)',
    ],
    format: 'json',
    config: (server, reach) => ({ mcpServers: { [server]: reach.kind === 'http' ? {} : program(reach) } }),
    after: 'Quit Claude Desktop and open it again.',
  },
  {
    name: 'cursor',
    title: 'Cursor',
    files: ['~/.cursor/mcp.json', '.cursor/mcp.json in the project'],
    format: 'json',
    config: (server, reach) => ({
      mcpServers: {
        [server]: reach.kind === 'http' ? { url: reach.url, headers: bearer(reach.key) } : program(reach),
      },
    }),
    after: 'Open Cursor’s settings under MCP: the server is listed with its tools.',
  },
  {
    name: 'vscode',
    title: 'VS Code',
    files: ['the user’s mcp.json: command “MCP: Open User Configuration”', '.vscode/mcp.json in the project'],
    format: 'json',
    config: (server, reach) => ({
      servers: {
        [server]:
          reach.kind === 'http'
            ? { type: 'http', url: reach.url, headers: bearer(reach.key) }
            : { type: 'stdio', ...program(reach) },
      },
    }),
    after: 'Press Start above the entry, or run “MCP: List Servers”.',
  },
  {
    name: 'codex',
    title: 'Codex',
    files: ['~/.codex/config.toml'],
    format: 'toml',
    config: (server, reach) => ({
      mcp_servers: {
        [server]: reach.kind === 'http' ? { url: reach.url, http_headers: bearer(reach.key) } : program(reach),
      },
    }),
    after: 'Restart Codex and check with /mcp.',
  },
  {
    name: 'gemini-cli',
    title: 'Gemini CLI',
    files: ['~/.gemini/settings.json', '.gemini/settings.json in the project'],
    format: 'json',
    config: (server, reach) => ({
      mcpServers: {
        [server]: reach.kind === 'http' ? { httpUrl: reach.url, headers: bearer(reach.key) } : program(reach),
      },
    }),
    after: 'Restart Gemini CLI and check with /mcp.',
  },
  {
    name: 'opencode',
    title: 'opencode',
    files: ['~/.config/opencode/opencode.json', 'opencode.json in the project'],
    format: 'json',
    config: (server, reach) => ({
      mcp: {
        servers: {
          [server]:
            reach.kind === 'http'
              ? { type: 'remote', url: reach.url, headers: bearer(reach.key) }
              : { type: 'local', command: [reach.command, ...reach.args], environment: reach.env },
        },
      },
    }),
    after: 'Restart opencode. Versions before 2 want the entry directly under "mcp", without "servers".',
  },
  {
    name: 'windsurf',
    title: 'Windsurf',
    files: ['~/.codeium/windsurf/mcp_config.json'],
    format: 'json',
    config: (server, reach) => ({
      mcpServers: {
        [server]: reach.kind === 'http' ? { serverUrl: reach.url, headers: bearer(reach.key) } : program(reach),
      },
    }),
    after: 'Press Refresh in Cascade’s list of MCP servers.',
  },
  {
    name: 'zed',
    title: 'Zed',
    files: ['settings.json: command “zed: open settings file”'],
    format: 'json',
    config: (server, reach) => ({
      context_servers: {
        [server]: reach.kind === 'http' ? { url: reach.url, headers: bearer(reach.key) } : program(reach),
      },
    }),
    after: 'The agent panel’s settings show the server with a green dot.',
  },
];

export function textOf({ format }: Pick<McpClient, 'format'>, config: Record<string, unknown>): string {
  return format === 'json' ? JSON.stringify(config, null, 2) : tables(config, []).trim();
}

/** TOML of objects, lists and texts. JSON's escapes are a part of TOML's (toml.io, 1.0: basic strings). */
function tables(config: Readonly<Record<string, unknown>>, path: readonly string[]): string {
  const entries = Object.entries(config);
  const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const own = entries.filter(([, value]) => !isTable(value));
  const head = path.length > 0 && (own.length > 0 || entries.length === 0) ? `\n[${path.map(keyOf).join('.')}]\n` : '';
  const lines = own.map(([name, value]) => `${keyOf(name)} = ${JSON.stringify(value)}\n`).join('');
  const below = entries.flatMap(([name, value]) =>
    isTable(value) ? [tables(value as Record<string, unknown>, [...path, name])] : [],
  );
  return head + lines + below.join('');
}

const keyOf = (name: string) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name));
