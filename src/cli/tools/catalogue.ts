/** The verbs of `gantry tools`, with the words of their help. */
import type { Part } from '../command.ts';

export const tools: Part = {
  name: 'tools',
  about: 'List and call tools, attach servers, connect MCP clients',
  verbs: [
    {
      name: 'ls',
      args: '[server]',
      about: 'List tools: Gantry’s own and those of attached servers',
      options: [{ flags: '--server <name>', about: 'the same: only tools of this attached server' }],
      load: () => import('./tools.ts').then((m) => m.list),
    },
    {
      name: 'show',
      args: '<tool>',
      about: 'Show a tool and its arguments',
      load: () => import('./tools.ts').then((m) => m.show),
    },
    {
      name: 'call',
      args: '<tool> [values...]',
      about: 'Call a tool and print its result',
      more: 'Values are name=value: gantry tools call file.read path=notes.md limit=100\nor one JSON object: gantry tools call file.read --args \'{"path":"notes.md"}\'; with --args - it is read from stdin.\nA call that needs your approval waits 50 seconds, then ends with exit code 5: answer in the inbox and call it again.',
      options: [{ flags: '--args <json>', about: 'the arguments as one JSON object, or - for stdin' }],
      mutation: true,
      load: () => import('./tools.ts').then((m) => m.call),
    },
    {
      name: 'servers',
      args: '[action] [name] [command...]',
      about: 'ls, attach <name>, detach <name>, reconnect <name>, enable <name>, disable <name>',
      more: 'A program:   gantry tools servers attach files -- npx -y @modelcontextprotocol/server-filesystem .\nAn address:  gantry tools servers attach issues --url https://mcp.example/mcp --header \'Authorization: Bearer $TOKEN\'\nValues of --env and --header are secrets: they are kept sealed and never shown again. Every program on this computer can read\na command line, and the shell remembers it: in single quotes, $TOKEN at the end of a header is read from the environment\nby gantry itself; --header @file, or @- for stdin, reads "Name: value" from each line.',
      options: [
        {
          flags: '--url <url>',
          about: 'with attach: address of an HTTP server; the same as giving an address in place of a program',
        },
        {
          flags: '--header <header...>',
          about: 'with --url: "Name: value", \'Name: $VARIABLE\', @file or @- for stdin',
        },
        { flags: '--env <variable...>', about: 'with a program: NAME=value, or NAME to take it from here' },
        { flags: '--cwd <folder>', about: 'with a program: its working folder' },
        { flags: '--timeout <seconds>', about: 'with attach: how long one call may take, 1 to 600 (default 60)' },
      ],
      mutation: true,
      load: () => import('./servers.ts').then((m) => m.servers),
    },
    {
      name: 'connect',
      args: '[client]',
      about: 'Print the configuration that gives an MCP client these tools',
      more: 'Without a client it lists the known ones. For clients that speak HTTP it makes an API key that may call tools and write to\nbots; clients that only start programs get a command, which reads your own token when it runs.',
      options: [
        { flags: '--stdio', about: 'print a command instead of an address and a key' },
        { flags: '--key-name <name>', about: 'name of the key (default: the client’s name)' },
        { flags: '--days <n>', about: 'days until the key expires (default: never)' },
        { flags: '--tools <names...>', about: 'the only tools that the key has: file.read, tracker.* (default: all)' },
        { flags: '--search', about: 'with --tools: list one tool that finds the others' },
      ],
      mutation: true,
      load: () => import('./connect.ts').then((m) => m.connect),
    },
    {
      name: 'stdio',
      about: 'Run an MCP server on stdin and stdout, for clients that only start programs',
      options: [{ flags: '--dotted', about: 'name tools as Gantry does: shell.exec, not shell_exec' }],
      load: () => import('./stdio.ts').then((m) => m.stdio),
    },
    {
      name: 'approve',
      args: '<name>',
      about: 'Approve an app at the edge: make its key and print what to paste',
      more: 'gantry tools approve Dashboard                  reads bots, runs and boards, and may subscribe to events of all bots\ngantry tools approve Helpdesk --bot web@site     talks to that bot, and may subscribe to its events\nA key opens the one address that is printed with it, and nothing else.\nApps that sign people in need no key: give them the address and approve them in the browser.',
      options: [
        { flags: '--bot <bot>', about: 'only this bot’s connector, not the server for all bots' },
        { flags: '--days <n>', about: 'days until the key expires (default: never)' },
      ],
      mutation: true,
      load: () => import('./approve.ts').then((m) => m.approve),
    },
  ],
};
