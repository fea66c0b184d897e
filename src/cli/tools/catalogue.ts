/** The verbs of `gantry tools`, with the words of their help. */
import type { Part } from '../command.ts';

export const tools: Part = {
  name: 'tools',
  about: 'Tools: what there is, calling one, attached servers, MCP clients',
  verbs: [
    {
      name: 'ls',
      args: '[server]',
      about: 'List tools: Gantry’s own, of documents, and of attached servers',
      options: [{ flags: '--server <name>', about: 'the same: only those of this attached server' }],
      load: () => import('./tools.ts').then((m) => m.list),
    },
    {
      name: 'show',
      args: '<tool>',
      about: 'Show one tool with what it takes',
      load: () => import('./tools.ts').then((m) => m.show),
    },
    {
      name: 'call',
      args: '<tool> [values...]',
      about: 'Call a tool and print its result',
      more: 'Values are name=value: gantry tools call file.read path=notes.md limit=100\nor one JSON object: gantry tools call file.read --args \'{"path":"notes.md"}\'; with --args - it is read from stdin.\nA call that needs you waits 50 seconds and then ends with exit code 5: answer it in the inbox, and call it again.',
      options: [{ flags: '--args <json>', about: 'the arguments as one JSON object, or - for stdin' }],
      mutation: true,
      load: () => import('./tools.ts').then((m) => m.call),
    },
    {
      name: 'servers',
      args: '[action] [name] [command...]',
      about: 'ls, attach <name>, detach <name>, reconnect <name>, enable <name>, disable <name>',
      more: 'A program:   gantry tools servers attach files -- npx -y @modelcontextprotocol/server-filesystem .\nAn address:  gantry tools servers attach issues --url https://mcp.example/mcp --header \'Authorization: Bearer $TOKEN\'\nValues of --env and --header are secrets: they are kept sealed and never shown again. Every program of this computer sees what is\nwritten on a command line, and the shell remembers it: in single quotes, $TOKEN at the end of a header is read from the environment\nby gantry itself; --header @file, or @- for stdin, reads "Name: value" from each line.',
      options: [
        {
          flags: '--url <url>',
          about: 'with attach: a server that speaks HTTP; an address in place of a program is the same',
        },
        {
          flags: '--header <header...>',
          about: 'with --url: "Name: value", \'Name: $VARIABLE\', @file or @- for stdin',
        },
        { flags: '--env <variable...>', about: 'with a program: NAME=value, or NAME to take it from here' },
        { flags: '--cwd <folder>', about: 'with a program: where it runs' },
        { flags: '--timeout <seconds>', about: 'with attach: of one call, 1 to 600 (default 60)' },
      ],
      mutation: true,
      load: () => import('./servers.ts').then((m) => m.servers),
    },
    {
      name: 'connect',
      args: '[client]',
      about: 'Print the configuration by which an MCP client uses these tools',
      more: 'Without a client it lists those that are known. For clients that speak HTTP it makes an API key that may call tools and write to\nbots; clients that only start programs get a command, which reads your own token when it runs.',
      options: [
        { flags: '--stdio', about: 'a command in place of an address and a key' },
        { flags: '--key-name <name>', about: 'what the key is called (default: the client’s name)' },
        { flags: '--days <n>', about: 'how long the key lives (default: until revoked)' },
      ],
      mutation: true,
      load: () => import('./connect.ts').then((m) => m.connect),
    },
    {
      name: 'stdio',
      about: 'Be an MCP server on stdin and stdout, for clients that only start programs',
      options: [{ flags: '--dotted', about: 'name tools as Gantry does: shell.exec in place of shell_exec' }],
      load: () => import('./stdio.ts').then((m) => m.stdio),
    },
    {
      name: 'approve',
      args: '<name>',
      about: 'Let an app in at the edge: make its key, print what to paste',
      more: 'gantry tools approve Dashboard                  reads bots, runs and boards, and may subscribe to events of all bots\ngantry tools approve Helpdesk --bot web@site     talks to that bot, and may subscribe to its events\nA key opens the one address that is printed with it, and nothing else.\nApps that sign people in themselves need no key: they take the address, and you say yes in the browser.',
      options: [
        { flags: '--bot <bot>', about: 'the connector of this bot, in place of the server of all bots' },
        { flags: '--days <n>', about: 'how long the key lives (default: until revoked)' },
      ],
      mutation: true,
      load: () => import('./approve.ts').then((m) => m.approve),
    },
  ],
};
