/** The parts about bots, teams and messages as data. */
import type { Option, Part } from '../command.ts';
import { mail, peers, runs, steer } from '../work-engine/catalogue.ts';

const agentOption: Option = { flags: '--agent <bot>', about: 'only this bot (id, address or name)' };
const commitOption: Option = {
  flags: '--commit <message>',
  about: 'commit what is uncommitted under this message first',
};
const paging: readonly Option[] = [
  { flags: '--limit <n>', about: 'at most this many, 1 to 200 (default 50)' },
  { flags: '--cursor <cursor>', about: 'go on where the last page ended' },
];

export const agents: Part = {
  name: 'agents',
  about: 'List, inspect and control bots',
  verbs: [
    {
      name: 'ls',
      about: 'List bots with their state, reason and queue',
      options: [{ flags: '--team <team>', about: 'only the bots of this team' }],
      load: () => import('./agents.ts').then((m) => m.list),
    },
    { name: 'show', args: '<bot>', about: 'Show one bot', load: () => import('./agents.ts').then((m) => m.show) },
    {
      name: 'capture',
      args: '<bot>',
      about: 'Print the last lines of a bot’s terminal as text',
      options: [{ flags: '--lines <n>', about: 'how many lines, 1 to 2000 (default 80)' }],
      load: () => import('./agents.ts').then((m) => m.capture),
    },
    {
      name: 'transcript',
      args: '<bot>',
      about: 'Print all that a bot’s terminal has shown, as text with times',
      options: [{ flags: '--cursor <cursor>', about: 'go on where the last call ended' }],
      load: () => import('./agents.ts').then((m) => m.transcript),
    },
    {
      name: 'screen',
      args: '<bot>',
      about: 'Print a bot’s screen as it is now',
      load: () => import('./agents.ts').then((m) => m.screen),
    },
    {
      name: 'input',
      args: '<bot> [text...]',
      about: 'Type into a bot’s terminal: text first, then keys',
      more: 'Text alone stays unsent; to send it: `agents input <bot> "ls" --key Enter`.\nKeys: Enter Tab Escape Backspace Delete Space Up Down Left Right Home End PageUp PageDown Insert F1–F12,\nwith C- M- S- before them (C-c). This leaves no delivery behind; to give a bot a message use `orchestration send`.',
      options: [{ flags: '--key <key...>', about: 'keys to press after the text, in order' }],
      mutation: true,
      load: () => import('./agents.ts').then((m) => m.input),
    },
    {
      name: 'attach',
      args: '<bot>',
      about: 'Show a bot’s terminal here and type into it; Ctrl-] lets go',
      options: [{ flags: '--watch', about: 'only look: nothing you type is sent' }],
      load: () => import('./attach.ts').then((m) => m.attach),
    },
    {
      name: 'diff',
      args: '<bot>',
      about: 'Show what a bot changed in its worktree, committed or not',
      options: [{ flags: '--stat', about: 'only the files, without the diff itself' }],
      load: () => import('./worktrees.ts').then((m) => m.diff),
    },
    {
      name: 'merge',
      args: '<bot>',
      about: 'Merge a bot’s branch into the checkout it came from',
      options: [commitOption],
      mutation: true,
      load: () => import('./worktrees.ts').then((m) => m.merge),
    },
    {
      name: 'keep',
      args: '<bot>',
      about: 'Keep a bot’s branch for yourself and give the bot a fresh one',
      options: [{ flags: '--as <branch>', about: 'name of the branch (default: the one it has)' }, commitOption],
      mutation: true,
      load: () => import('./worktrees.ts').then((m) => m.keep),
    },
    {
      name: 'discard',
      args: '<bot>',
      about: 'Give a bot a fresh branch; what was not merged is set aside, never deleted',
      mutation: true,
      load: () => import('./worktrees.ts').then((m) => m.discard),
    },
    {
      name: 'explain',
      args: '<bot>',
      about: 'Say why a bot is in its state: the rules and the evidence they saw',
      load: () => import('./agents.ts').then((m) => m.explain),
    },
    {
      name: 'usage',
      about: 'Show what bots used today and this month, their limits, and who is held by one',
      load: () => import('./spending.ts').then((m) => m.usage),
    },
    {
      name: 'limit',
      args: '<subject>',
      about: 'Set how much a bot, a team or all bots may spend a day (UTC)',
      more: '<subject> is a bot (coder@dev), a team, or "all". Who has reached it takes no more messages; what is under way goes on.',
      options: [
        { flags: '--daily <dollars>', about: 'the limit' },
        { flags: '--none', about: 'take the limit away' },
      ],
      mutation: true,
      load: () => import('./spending.ts').then((m) => m.limit),
    },
    {
      name: 'go-on',
      args: '<bot>',
      about: 'Let a held bot go on: one message over its limit, or a try before the reset',
      mutation: true,
      load: () => import('./spending.ts').then((m) => m.goOn),
    },
    {
      name: 'wait-out',
      args: '<on-or-off>',
      about: 'Whether bots wait for the reset of a usage limit and go on by themselves',
      mutation: true,
      load: () => import('./spending.ts').then((m) => m.waitOut),
    },
    {
      name: 'doctor',
      about: 'Check which harnesses are installed and signed in',
      load: () => import('./doctor.ts').then((m) => m.agentsDoctor),
    },
    {
      name: 'sessions',
      about: 'List the conversations that harnesses keep themselves, the latest first',
      options: [
        { flags: '--harness <harness>', about: 'only of this one: claude, codex, gemini, opencode or qwen' },
        { flags: '--cwd <folder>', about: 'only those of this folder' },
      ],
      load: () => import('./adopt.ts').then((m) => m.sessions),
    },
    {
      name: 'adopt',
      args: '<harness> <session>',
      about: 'Take such a conversation up as a bot',
      more: 'Writes the bot into a team file and starts it with the harness’s own resume. A conversation that another process has\nopen is refused: end it there first, or name --take-over, which ends that process. Look with --dry-run before.',
      options: [
        { flags: '--as <bot>', about: 'what the bot is called (default: the harness)' },
        { flags: '--team <team>', about: 'team it is written into (default: adopted)' },
        { flags: '--take-over', about: 'end the process that has the conversation open' },
      ],
      mutation: true,
      load: () => import('./adopt.ts').then((m) => m.adopt),
    },
    runs,
  ],
};

export const teams: Part = {
  name: 'teams',
  about: 'Teams: start and stop the bots of a team.yaml',
  verbs: [
    {
      name: 'ls',
      about: 'List teams, and what is wrong with team files',
      load: () => import('./teams.ts').then((m) => m.list),
    },
    {
      name: 'up',
      args: '<team>',
      about: 'Start the bots of a team; what already runs is left alone',
      options: [
        { flags: '--preset <preset>', about: 'a preset of the team file' },
        { flags: '--on <computer>', about: 'another paired computer, by its name or id' },
      ],
      mutation: true,
      load: () => import('./teams.ts').then((m) => m.up),
    },
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
    {
      name: 'demo',
      about: 'Put the demo team and its sample repository into the workspace',
      mutation: true,
      load: () => import('./teams.ts').then((m) => m.demo),
    },
  ],
};

export const orchestration: Part = {
  name: 'orchestration',
  about: 'Messages to bots, whether they arrived, and what happens',
  verbs: [
    {
      name: 'send',
      args: '<to> [text...]',
      about: 'Send a message and say whether it was really received',
      more: '<to> is a bot (id, bot@team) or channel:<thread>. Without text, or with "-", the text is read from stdin.\nExit code: 0 verified, queued or best effort; 3 failed; 4 unconfirmed.',
      options: [
        { flags: '--queue', about: 'only queue it; the bot gets it when it can take a message' },
        { flags: '--no-queue', about: 'refuse rather than queue when the bot is busy' },
        { flags: '--thread <thread>', about: 'record it as a message of this thread' },
        { flags: '--dag <dag>', about: 'the run it belongs to' },
        { flags: '--node <node>', about: 'the step it belongs to' },
        { flags: '--key <key>', about: 'idempotency key: a repeated key answers the first delivery' },
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
    {
      name: 'deliveries',
      about: 'List deliveries, newest first',
      options: [
        agentOption,
        { flags: '--thread <thread>', about: 'only of this thread' },
        { flags: '--node <node>', about: 'only of this step' },
        ...paging,
      ],
      load: () => import('./orchestration.ts').then((m) => m.deliveries),
    },
    {
      name: 'events',
      about: 'Print events as they happen; with --after first what came after that event',
      more: 'With --json: one document {events, lastEventId} once --limit events came or --for seconds are over.',
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
      about: 'Try the queued messages of a bot, or of all, now',
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
