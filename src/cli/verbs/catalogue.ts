/** The parts about bots, teams and messages as data. */
import type { Option, Part } from '../command.ts';
import { plain } from '../plain.ts';
import { mail, peers, runs, steer } from '../work-engine/catalogue.ts';

const paging: readonly Option[] = [
  { flags: '--limit <n>', about: 'at most this many, 1 to 200 (default 50)' },
  { flags: '--cursor <cursor>', about: 'continue where the last page ended' },
];

export const agents: Part = {
  name: 'agents',
  about: 'List, inspect and control bots',
  verbs: [
    plain('listAgents', {
      name: 'ls',
      about: 'List bots with their state, reason and queue',
      load: () => import('./agents.ts').then((m) => m.list),
    }),
    { name: 'show', args: '<bot>', about: 'Show one bot', load: () => import('./agents.ts').then((m) => m.show) },
    plain('captureAgent', {
      name: 'capture',
      args: '<bot>',
      about: 'Print the last lines of a bot’s terminal as text',
      load: () => import('./agents.ts').then((m) => m.capture),
    }),
    {
      name: 'transcript',
      args: '<bot>',
      about: 'Print everything a bot’s terminal has shown, as text',
      options: [{ flags: '--cursor <cursor>', about: 'continue where the last call ended' }],
      load: () => import('./agents.ts').then((m) => m.transcript),
    },
    {
      name: 'screen',
      args: '<bot>',
      about: 'Print a bot’s current screen',
      load: () => import('./agents.ts').then((m) => m.screen),
    },
    {
      name: 'input',
      args: '<bot> [text...]',
      about: 'Type into a bot’s terminal: text first, then keys',
      more: 'Text is typed but not sent; to send it: `agents input <bot> "ls" --key Enter`.\nKeys: Enter Tab Escape Backspace Delete Space Up Down Left Right Home End PageUp PageDown Insert F1–F12,\nwith C- M- S- before them (C-c). This records no delivery; to send a bot a message use `orchestration send`.',
      options: [{ flags: '--key <key...>', about: 'keys to press after the text, in order' }],
      mutation: true,
      load: () => import('./agents.ts').then((m) => m.input),
    },
    {
      name: 'attach',
      args: '<bot>',
      about: 'Show a bot’s terminal here and type into it; Ctrl-] detaches',
      options: [{ flags: '--watch', about: 'only watch: nothing you type is sent' }],
      load: () => import('./attach.ts').then((m) => m.attach),
    },
    {
      name: 'diff',
      args: '<bot>',
      about: 'Show what a bot changed in its worktree, committed or not',
      options: [{ flags: '--stat', about: 'only the files, without the diff itself' }],
      load: () => import('./worktrees.ts').then((m) => m.diff),
    },
    plain('mergeWorktree', {
      name: 'merge',
      args: '<bot>',
      about: 'Merge a bot’s branch into the checkout it came from',
      values: { commit: 'message' },
      load: () => import('./worktrees.ts').then((m) => m.merge),
    }),
    plain('keepWorktree', {
      name: 'keep',
      args: '<bot>',
      about: 'Keep a bot’s branch for yourself and give the bot a fresh one',
      values: { as: 'branch', commit: 'message' },
      load: () => import('./worktrees.ts').then((m) => m.keep),
    }),
    plain('discardWorktree', {
      name: 'discard',
      args: '<bot>',
      about: 'Give a bot a fresh branch; unmerged work is set aside, never deleted',
      load: () => import('./worktrees.ts').then((m) => m.discard),
    }),
    {
      name: 'restore',
      args: '<bot>',
      about: 'Bring back the work of a bot that was discarded',
      options: [{ flags: '--from <ref>', about: 'as the discard named it (default: the newest)' }],
      mutation: true,
      load: () => import('./worktrees.ts').then((m) => m.restore),
    },
    {
      name: 'explain',
      args: '<bot>',
      about: 'Explain a bot’s state: the rules and the evidence they saw',
      load: () => import('./agents.ts').then((m) => m.explain),
    },
    {
      name: 'usage',
      about: 'Show what bots used today and this month, their limits, and which bots are held',
      load: () => import('./spending.ts').then((m) => m.usage),
    },
    {
      name: 'limit',
      args: '<subject>',
      about: 'Set how much a bot, a team or all bots may spend a day (UTC)',
      more: '<subject> is a bot (coder@dev), a team, or "all". A bot that has reached it takes no more messages; work under way continues.',
      options: [
        { flags: '--daily <dollars>', about: 'the limit' },
        { flags: '--none', about: 'remove the limit' },
      ],
      mutation: true,
      load: () => import('./spending.ts').then((m) => m.limit),
    },
    {
      name: 'go-on',
      args: '<bot>',
      about: 'Let a held bot continue: one message over its limit, or a try before the reset',
      mutation: true,
      load: () => import('./spending.ts').then((m) => m.goOn),
    },
    {
      name: 'wait-out',
      args: '<on-or-off>',
      about: 'Set whether bots wait for a usage limit to reset and then continue automatically',
      mutation: true,
      load: () => import('./spending.ts').then((m) => m.waitOut),
    },
    {
      name: 'doctor',
      about: 'Check which agent programs are installed and signed in',
      load: () => import('./doctor.ts').then((m) => m.agentsDoctor),
    },
    plain('listKeptSessions', {
      name: 'sessions',
      about: 'List the conversations that agent programs keep, newest first',
      values: { cwd: 'folder' },
      load: () => import('./adopt.ts').then((m) => m.sessions),
    }),
    plain('adoptKeptSession', {
      name: 'adopt',
      args: '<harness> <session>',
      about: 'Adopt such a conversation as a bot',
      more: 'Writes the bot into a team file and starts it with the program’s own resume. A conversation that is open in another\nprocess is refused: end that process, or let --take-over end it. Check with --dry-run first.',
      filled: ['id'],
      values: { as: 'bot' },
      load: () => import('./adopt.ts').then((m) => m.adopt),
    }),
    runs,
  ],
};

export const teams: Part = {
  name: 'teams',
  about: 'Start and stop the bots of a team.yaml',
  verbs: [
    {
      name: 'ls',
      about: 'List teams and the problems in team files',
      load: () => import('./teams.ts').then((m) => m.list),
    },
    plain('teamUp', {
      name: 'up',
      args: '<team>',
      about: 'Start the bots of a team; running bots are left alone',
      values: { on: 'computer', sandbox: 'mode' },
      load: () => import('./teams.ts').then((m) => m.up),
    }),
    {
      name: 'down',
      args: '[team]',
      about: 'Stop the bots of a team, or of all teams with --all',
      options: [{ flags: '--all', about: 'every team' }],
      mutation: true,
      load: () => import('./teams.ts').then((m) => m.down),
    },
    {
      name: 'check',
      args: '[team]',
      about: 'Check a team file, or all, and print every problem with path and line',
      load: () => import('./teams.ts').then((m) => m.check),
    },
    plain('addDemo', {
      name: 'demo',
      about: 'Add the demo team and its sample project to the workspace',
      load: () => import('./teams.ts').then((m) => m.demo),
    }),
  ],
};

export const orchestration: Part = {
  name: 'orchestration',
  about: 'Send messages to bots, and see deliveries and events',
  verbs: [
    {
      name: 'send',
      args: '<to> [text...]',
      about: 'Send a message and say whether it arrived',
      more: '<to> is a bot (id, bot@team) or channel:<thread>. Without text, or with "-", the text is read from stdin.\nExit code: 0 verified, queued or best effort; 3 failed; 4 unconfirmed.',
      options: [
        { flags: '--queue', about: 'only queue it; the bot gets it when it can take a message' },
        { flags: '--no-queue', about: 'refuse instead of queueing when the bot is busy' },
        { flags: '--thread <thread>', about: 'record it as a message of this thread' },
        { flags: '--dag <dag>', about: 'the run it belongs to' },
        { flags: '--node <node>', about: 'the step it belongs to' },
        { flags: '--key <key>', about: 'idempotency key: a repeated key returns the first delivery' },
        { flags: '--raw', about: 'type a bare command, without the line that names you (owner only)' },
      ],
      mutation: true,
      load: () => import('./orchestration.ts').then((m) => m.send),
    },
    {
      name: 'reply',
      args: '<thread> [text...]',
      about: 'Answer in a thread',
      options: [{ flags: '--key <key>', about: 'idempotency key' }],
      mutation: true,
      load: () => import('./orchestration.ts').then((m) => m.reply),
    },
    plain('listDeliveries', {
      name: 'deliveries',
      about: 'List deliveries, newest first',
      values: { agent: 'bot' },
      load: () => import('./orchestration.ts').then((m) => m.deliveries),
    }),
    plain('listReports', {
      name: 'reports',
      about: 'List what bots reported, newest first, with what was refused and why',
      values: { agent: 'bot' },
      load: () => import('./orchestration.ts').then((m) => m.reports),
    }),
    {
      name: 'events',
      about: 'Print events as they happen; --after first replays what came after that event',
      more: 'With --json: one document {events, lastEventId} after --limit events or --for seconds.',
      options: [
        { flags: '--after <id>', about: 'replay what came after this event (0: from the beginning)' },
        { flags: '--limit <n>', about: 'stop after this many events' },
        { flags: '--for <seconds>', about: 'stop after this many seconds (with --json default 2)' },
      ],
      load: () => import('./events.ts').then((m) => m.events),
    },
    {
      name: 'drain',
      args: '[bot]',
      about: 'Try now to deliver the queued messages of a bot, or of all',
      mutation: true,
      load: () => import('./orchestration.ts').then((m) => m.drain),
    },
    {
      name: 'threads',
      args: '[thread]',
      about: 'List threads, or the messages of one',
      options: [
        { flags: '--create <title>', about: 'open a new thread' },
        { flags: '--bot <bot>', about: 'the bot of the thread' },
        ...paging,
      ],
      mutation: true,
      load: () => import('./orchestration.ts').then((m) => m.threads),
    },
    mail,
    steer,
    peers,
  ],
};
