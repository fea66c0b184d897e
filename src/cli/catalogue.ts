/**
 * Every part and verb of Gantry's command line (gaps.md C, "CLI parts and verbs"), with the words of its help. A verb without `load`
 * is specified and not built: it says so with exit code 2.
 */
import { admin } from './admin/catalogue.ts';
import { backup, restore } from './backup/catalogue.ts';
import type { Option, Part, Verb } from './command.ts';
import { computerHost } from './computer-host/catalogue.ts';
import { install } from './install/catalogue.ts';
import { tools } from './tools/catalogue.ts';
import { ledgerExport, ledgerQuery, ledgerVerify, mail, peers, runs, steer, vault } from './work-engine/catalogue.ts';
import { worker } from './worker/catalogue.ts';
import { workflows, workspace } from './workflows/catalogue.ts';

const agentOption: Option = { flags: '--agent <bot>', about: 'only this bot (id, address or name)' };
const commitOption: Option = {
  flags: '--commit <message>',
  about: 'commit what is uncommitted under this message first',
};
const paging: readonly Option[] = [
  { flags: '--limit <n>', about: 'at most this many, 1 to 200 (default 50)' },
  { flags: '--cursor <cursor>', about: 'go on where the last page ended' },
];
const noEngine: Option = {
  flags: '--workspace <folder>',
  about: 'the folder the bots work in (default: the last one used)',
};

const agents: Part = {
  name: 'agents',
  about: 'Bots: who there is, what they do, their terminals',
  verbs: [
    {
      name: 'ls',
      about: 'List bots with their state, reason and queue',
      options: [{ flags: '--team <team>', about: 'only the bots of this team' }],
      load: () => import('./verbs/agents.ts').then((m) => m.list),
    },
    { name: 'show', args: '<bot>', about: 'Show one bot', load: () => import('./verbs/agents.ts').then((m) => m.show) },
    {
      name: 'capture',
      args: '<bot>',
      about: 'Print the last lines of a bot’s terminal as text',
      options: [{ flags: '--lines <n>', about: 'how many lines, 1 to 2000 (default 80)' }],
      load: () => import('./verbs/agents.ts').then((m) => m.capture),
    },
    {
      name: 'transcript',
      args: '<bot>',
      about: 'Print all that a bot’s terminal has shown, as text with times',
      options: [{ flags: '--cursor <cursor>', about: 'go on where the last call ended' }],
      load: () => import('./verbs/agents.ts').then((m) => m.transcript),
    },
    {
      name: 'screen',
      args: '<bot>',
      about: 'Print a bot’s screen as it is now',
      load: () => import('./verbs/agents.ts').then((m) => m.screen),
    },
    {
      name: 'input',
      args: '<bot> [text...]',
      about: 'Type into a bot’s terminal: text first, then keys',
      more: 'Keys: Enter Tab Escape Backspace Delete Space Up Down Left Right Home End PageUp PageDown Insert F1–F12,\nwith C- M- S- before them (C-c). This leaves no delivery behind; to give a bot a message use `orchestration send`.',
      options: [{ flags: '--key <key...>', about: 'keys to press after the text, in order' }],
      mutation: true,
      load: () => import('./verbs/agents.ts').then((m) => m.input),
    },
    {
      name: 'attach',
      args: '<bot>',
      about: 'Show a bot’s terminal here and type into it; Ctrl-] lets go',
      options: [{ flags: '--watch', about: 'only look: nothing you type is sent' }],
      load: () => import('./verbs/attach.ts').then((m) => m.attach),
    },
    {
      name: 'diff',
      args: '<bot>',
      about: 'Show what a bot changed in its worktree, committed or not',
      options: [{ flags: '--stat', about: 'only the files, without the diff itself' }],
      load: () => import('./verbs/worktrees.ts').then((m) => m.diff),
    },
    {
      name: 'merge',
      args: '<bot>',
      about: 'Merge a bot’s branch into the checkout it came from',
      options: [commitOption],
      mutation: true,
      load: () => import('./verbs/worktrees.ts').then((m) => m.merge),
    },
    {
      name: 'keep',
      args: '<bot>',
      about: 'Keep a bot’s branch for yourself and give the bot a fresh one',
      options: [{ flags: '--as <branch>', about: 'name of the branch (default: the one it has)' }, commitOption],
      mutation: true,
      load: () => import('./verbs/worktrees.ts').then((m) => m.keep),
    },
    {
      name: 'discard',
      args: '<bot>',
      about: 'Give a bot a fresh branch; what was not merged is set aside, never deleted',
      mutation: true,
      load: () => import('./verbs/worktrees.ts').then((m) => m.discard),
    },
    {
      name: 'explain',
      args: '<bot>',
      about: 'Say why a bot is in its state: the rules and the evidence they saw',
      load: () => import('./verbs/agents.ts').then((m) => m.explain),
    },
    {
      name: 'usage',
      about: 'Show what bots used today and this month, their limits, and who is held by one',
      load: () => import('./verbs/spending.ts').then((m) => m.usage),
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
      load: () => import('./verbs/spending.ts').then((m) => m.limit),
    },
    {
      name: 'go-on',
      args: '<bot>',
      about: 'Let a held bot go on: one message over its limit, or a try before the reset',
      mutation: true,
      load: () => import('./verbs/spending.ts').then((m) => m.goOn),
    },
    {
      name: 'wait-out',
      args: '<on-or-off>',
      about: 'Whether bots wait for the reset of a usage limit and go on by themselves',
      mutation: true,
      load: () => import('./verbs/spending.ts').then((m) => m.waitOut),
    },
    {
      name: 'doctor',
      about: 'Check which harnesses are installed and signed in',
      load: () => import('./verbs/doctor.ts').then((m) => m.agentsDoctor),
    },
    {
      name: 'sessions',
      about: 'List the conversations that harnesses keep themselves, the latest first',
      options: [
        { flags: '--harness <harness>', about: 'only of this one: claude, codex, gemini, opencode or qwen' },
        { flags: '--cwd <folder>', about: 'only those of this folder' },
      ],
      load: () => import('./verbs/adopt.ts').then((m) => m.sessions),
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
      load: () => import('./verbs/adopt.ts').then((m) => m.adopt),
    },
    runs,
  ],
};

const teams: Part = {
  name: 'teams',
  about: 'Teams: start and stop the bots of a team.yaml',
  verbs: [
    {
      name: 'ls',
      about: 'List teams, and what is wrong with team files',
      load: () => import('./verbs/teams.ts').then((m) => m.list),
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
      load: () => import('./verbs/teams.ts').then((m) => m.up),
    },
    {
      name: 'down',
      args: '[team]',
      about: 'Stop the bots of a team, or of all teams with --all',
      options: [{ flags: '--all', about: 'every team' }],
      mutation: true,
      load: () => import('./verbs/teams.ts').then((m) => m.down),
    },
    {
      name: 'check',
      args: '[team]',
      about: 'Check a team file, or all, and print every problem with path and line',
      load: () => import('./verbs/teams.ts').then((m) => m.check),
    },
    {
      name: 'demo',
      about: 'Put the demo team and its sample repository into the workspace',
      mutation: true,
      load: () => import('./verbs/teams.ts').then((m) => m.demo),
    },
  ],
};

const orchestration: Part = {
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
      load: () => import('./verbs/orchestration.ts').then((m) => m.send),
    },
    {
      name: 'reply',
      args: '<thread> [text...]',
      about: 'Answer in a thread',
      options: [{ flags: '--key <key>', about: 'idempotency key' }],
      mutation: true,
      load: () => import('./verbs/orchestration.ts').then((m) => m.reply),
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
      load: () => import('./verbs/orchestration.ts').then((m) => m.deliveries),
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
      load: () => import('./verbs/events.ts').then((m) => m.events),
    },
    {
      name: 'drain',
      args: '[bot]',
      about: 'Try the queued messages of a bot, or of all, now',
      mutation: true,
      load: () => import('./verbs/orchestration.ts').then((m) => m.drain),
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
      load: () => import('./verbs/orchestration.ts').then((m) => m.threads),
    },
    mail,
    steer,
    peers,
  ],
};

const ledger: Part = {
  name: 'ledger',
  about: 'The record of what happened',
  verbs: [ledgerQuery, ledgerVerify, ledgerExport],
};

const gate: Part = {
  name: 'gate',
  about: 'What may be done',
  verbs: [
    {
      name: 'check',
      args: '<tool>',
      about: 'May I do this? The policy answers, or a person',
      more: '<tool> is shell.exec, file.write, or a name of your own. Exit code: 0 yes, 1 no, 5 nobody has answered yet.\nA yes is for this one action, once.',
      options: [
        { flags: '--command <command>', about: 'the exact command' },
        { flags: '--path <path>', about: 'the file or folder, relative to the workspace' },
        { flags: '--host <host>', about: 'the host that is called' },
        { flags: '--reason <text>', about: 'why; shown to the person who is asked' },
        { flags: '--wait <seconds>', about: 'how long to wait for a person (default 50, 0: not at all)' },
      ],
      mutation: true,
      load: () => import('./approvals/gate.ts').then((m) => m.check),
    },
  ],
};

const desktop: Part = {
  name: 'desktop',
  about: 'The desktop window',
  verbs: [
    {
      name: 'install',
      about: 'Fetch the desktop window’s program (Electron), over 100 MB; never done without being asked',
      mutation: true,
      load: () => import('./verbs/desktop.ts').then((m) => m.install),
    },
  ],
};

export const parts: readonly Part[] = [
  agents,
  teams,
  orchestration,
  workflows,
  workspace,
  ledger,
  gate,
  vault,
  tools,
  desktop,
  admin,
];

export const commands: readonly Verb[] = [
  {
    name: 'start',
    about: 'Start Gantry and print the address to open',
    more: 'The address carries a one-time code that is valid for ten minutes; Enter prints a new one. Ctrl-C stops Gantry; bots that\nare live keep running unless you press it again or gave --stop-bots.',
    options: [
      noEngine,
      { flags: '--port <n>', about: 'port of the web interface (default 3010, 0: any free one)' },
      { flags: '--engine-port <n>', about: 'port of the engine (default 3011, 0: any free one)' },
      { flags: '--peer-port <n>', about: 'port for other computers, while this one is paired (default 3019)' },
      { flags: '--event-streams <n>', about: 'open event streams for one caller (default 64)' },
      { flags: '--no-open', about: 'do not open a browser' },
      { flags: '--headless', about: 'no browser, no desktop window' },
      { flags: '--stop-bots', about: 'stop the bots too when Gantry is stopped' },
      { flags: '--demo-phone', about: 'try the phone with a simulated carrier: no text and no call is real' },
      {
        flags: '--service <home>',
        about: 'as `gantry install` starts it: no screen, variables of service.env, teams that were up',
      },
    ],
    load: () => import('./start/start.ts').then((m) => m.start),
  },
  {
    name: 'stop',
    about: 'Stop Gantry; bots keep running unless --all is given',
    options: [{ flags: '--all', about: 'stop the bots and their terminals too' }],
    mutation: true,
    load: () => import('./verbs/stop.ts').then((m) => m.stop),
  },
  {
    name: 'open',
    about: 'Print a new one-time address, and open it in a browser where there is one',
    options: [{ flags: '--no-open', about: 'only print it' }],
    load: () => import('./verbs/open.ts').then((m) => m.open),
  },
  {
    name: 'doctor',
    about: 'Check this computer: Node, browser, Electron, harnesses, model keys, ports, disk',
    load: () => import('./verbs/doctor.ts').then((m) => m.doctor),
  },
  {
    name: 'completion',
    args: '<shell>',
    about: 'Print the completion script of bash or zsh',
    more: 'bash:  source <(gantry completion bash)\nzsh:   source <(gantry completion zsh)',
    load: () => import('./verbs/completion.ts').then((m) => m.completion),
  },
  {
    name: 'cloud',
    about: 'Run the cloud API for many people, who sign in with an OpenID provider',
    more: 'Each option is also a variable: GANTRY_BASE_URL, GANTRY_LISTEN, GANTRY_OIDC_ISSUER, GANTRY_OIDC_CLIENT_ID,\nGANTRY_OIDC_CLIENT_SECRET_FILE, GANTRY_TRUSTED_PROXY, GANTRY_REPLICA_URL. The data lies in GANTRY_HOME, or in\nthe PostgreSQL of DATABASE_URL (postgres://user:password@host:5432/name), which several may share. docs/identity.md shows an example.',
    options: [
      { flags: '--base-url <url>', about: 'the address that people use, such as https://gantry.example' },
      { flags: '--listen <host:port>', about: 'where to listen (default 127.0.0.1:3010)' },
      { flags: '--oidc-issuer <url>', about: 'the OpenID provider that people sign in with' },
      { flags: '--oidc-client-id <id>', about: 'what the provider calls this cloud' },
      { flags: '--oidc-client-secret-file <file>', about: 'file with the client secret (default: none, PKCE alone)' },
      { flags: '--trusted-proxy <list>', about: 'proxies in front whose X-Forwarded-For counts, such as 10.0.0.0/8' },
      { flags: '--replica-url <url>', about: 'where the other replicas on the same database reach this one' },
      {
        flags: '--events-edge-url <url>',
        about:
          'an address of its own for apps, such as https://events.gantry.example (default: /edge below the base address)',
      },
    ],
    load: () => import('./cloud/cloud.ts').then((m) => m.cloud),
  },
  {
    name: 'runtime',
    about: 'Run only this computer’s half, paired with a cloud, without a web interface',
    more: 'Without a pairing it asks the cloud for a code, prints it with the address where you approve it, and waits. GANTRY_CLOUD is\nthe same as --cloud. docs/computers.md says what a cloud can see and do.',
    options: [
      { flags: '--cloud <address>', about: 'the cloud to pair with, such as https://gantry.example' },
      noEngine,
      { flags: '--engine-port <n>', about: 'port of the engine (default 3011, 0: any free one)' },
      { flags: '--peer-port <n>', about: 'port for other computers, while this one is paired (default 3019)' },
      { flags: '--event-streams <n>', about: 'open event streams for one caller (default 64)' },
      { flags: '--stop-bots', about: 'stop the bots too when the runtime is stopped' },
    ],
    load: () => import('./pairing/runtime.ts').then((m) => m.runtime),
  },
  worker,
  computerHost,
  {
    name: 'pair',
    args: '[cloud]',
    about: 'Pair this computer with a cloud, show the pairing, or end it',
    more: 'gantry pair https://gantry.example   asks for a code, prints it, and waits until you approve it in a browser\ngantry pair                          shows how the pairing stands',
    options: [
      { flags: '--status', about: 'show how the pairing stands' },
      { flags: '--end', about: 'end the pairing: the cloud loses every key to this computer' },
    ],
    mutation: true,
    load: () => import('./pairing/pair.ts').then((m) => m.pair),
  },
  {
    name: 'why',
    args: '<what>',
    about: 'Say in one sentence why a bot, a step, a delivery or a run is as it is',
    more: '<what> is the name of a bot, or the id of a node, a delivery or a run; with --run also the id of a step.',
    options: [{ flags: '--run <run>', about: 'the run that the step is of' }],
    load: () => import('./verbs/why.ts').then((m) => m.why),
  },
  install,
  backup,
  restore,
];
