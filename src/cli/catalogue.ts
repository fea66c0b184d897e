/** Every part and verb of Gantry's command line, with the words of its help. */
import { accounts } from './accounts/catalogue.ts';
import { admin } from './admin/catalogue.ts';
import { backup, restore } from './backup/catalogue.ts';
import type { Option, Part, Verb } from './command.ts';
import { computerHost } from './computer-host/catalogue.ts';
import { install } from './install/catalogue.ts';
import { pages } from './pages.ts';
import { plain } from './plain.ts';
import { sandbox } from './sandbox/catalogue.ts';
import { support } from './support/catalogue.ts';
import { tools } from './tools/catalogue.ts';
import { agents, orchestration, teams } from './verbs/catalogue.ts';
import { ledgerExport, ledgerQuery, ledgerVerify, vault } from './work-engine/catalogue.ts';
import { worker } from './worker/catalogue.ts';
import { doVerb, workflows, workspace } from './workflows/catalogue.ts';

const noEngine: Option = {
  flags: '--workspace <folder>',
  about: 'the folder the bots work in (default: the last one used)',
};

const newMasterKey: Option = {
  flags: '--new-master-key',
  about: 'replace a lost master.key; everything it had sealed is lost',
};

const ledger: Part = {
  name: 'ledger',
  about: 'Query, verify and export the record of what happened',
  verbs: [ledgerQuery, ledgerVerify, ledgerExport],
};

const gate: Part = {
  name: 'gate',
  about: 'Ask whether an action is allowed',
  verbs: [
    {
      name: 'check',
      args: '<tool>',
      about: 'Ask whether an action is allowed; the policy or a person answers',
      more: '<tool> is shell.exec, file.write, or a name of your own. Exit code: 0 yes, 1 no, 5 no answer yet.\nA yes allows this one action, once.',
      options: [
        { flags: '--command <command>', about: 'the exact command' },
        { flags: '--path <path>', about: 'the file or folder, relative to the workspace' },
        { flags: '--host <host>', about: 'the host it calls' },
        { flags: '--reason <text>', about: 'why, for the person who is asked' },
        { flags: '--wait <seconds>', about: 'how long to wait for a person (default 50; 0: do not wait)' },
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
      about: 'Download Electron for the desktop window (over 100 MB); Gantry never does this unasked',
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
  accounts,
  sandbox,
  tools,
  support,
  desktop,
  admin,
];

export const commands: readonly Verb[] = [
  {
    name: 'start',
    stays: true,
    about: 'Start Gantry and print the address to open',
    more: 'The address has a one-time code that is valid for ten minutes; Enter prints a new one. Ctrl-C stops Gantry; live bots\nkeep running unless you press it again or gave --stop-bots.',
    options: [
      noEngine,
      { flags: '--port <n>', about: 'port of the web interface (default 3010; 0: any free one)' },
      { flags: '--engine-port <n>', about: 'port of the runtime (default 3011; 0: any free one)' },
      { flags: '--peer-port <n>', about: 'port for other computers, while this one is paired (default 3019)' },
      { flags: '--event-streams <n>', about: 'most open event streams for one caller (default 64)' },
      { flags: '--no-open', about: 'do not open a browser' },
      { flags: '--headless', about: 'no browser, no desktop window' },
      { flags: '--trust <hash>', about: 'agree to what the workspace wants to run, if it has this hash' },
      { flags: '--stop-bots', about: 'stop the bots too when Gantry stops' },
      newMasterKey,
      { flags: '--demo-phone', about: 'try the phone with a simulated carrier: no real texts or calls' },
      {
        flags: '--service <home>',
        about: 'how `gantry install` starts it: no screen, variables from service.env, teams that were up',
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
  doVerb,
  {
    name: 'open',
    args: '[thing]',
    about: 'Print a one-time sign-in link and open it in your browser',
    more: `<thing> is a bot, a team, a run, or a page; without it, the page that was open last time.\nPages: home, ${pages.join(', ')}`,
    options: [{ flags: '--no-open', about: 'only print it' }],
    load: () => import('./verbs/open.ts').then((m) => m.open),
  },
  {
    name: 'doctor',
    about: 'Check this computer: Node, browser, Electron, agent programs, model keys, ports, disk',
    load: () => import('./verbs/doctor.ts').then((m) => m.doctor),
  },
  {
    name: 'acp',
    args: '<bot>',
    stays: true,
    about: 'Let an editor talk to a bot over the Agent Client Protocol',
    more: 'For the settings of an editor that starts agents by a command: it speaks the protocol on stdin and stdout, and prints nothing else.',
    load: () => import('./acp/agent.ts').then((m) => m.acp),
  },
  {
    name: 'completion',
    args: '[shell]',
    about: 'Print the completion script for bash, zsh or fish',
    more: 'bash:  source <(gantry completion bash)\nzsh:   source <(gantry completion zsh)\nfish:  gantry completion fish | source\nWhile Gantry runs, Tab also completes the names of bots, teams, runs and templates.\nIt completes the command gantry: in a clone, run npm link once.',
    options: [{ flags: '--names <kind>', about: 'print the names of bots, teams, runs or templates, one a line' }],
    load: () => import('./verbs/completion.ts').then((m) => m.completion),
  },
  {
    name: 'cloud',
    stays: true,
    about: 'Run a cloud that many people sign in to with an OpenID provider',
    more: 'Each option can also be set by a variable: GANTRY_BASE_URL, GANTRY_LISTEN, GANTRY_OIDC_ISSUER, GANTRY_OIDC_CLIENT_ID,\nGANTRY_OIDC_CLIENT_SECRET_FILE, GANTRY_TRUSTED_PROXY, GANTRY_REPLICA_URL,\nGANTRY_EVENTS_EDGE_URL. Data is kept in GANTRY_HOME, or in\nthe PostgreSQL database of DATABASE_URL (postgres://user:password@host:5432/name), which several replicas may share. docs/identity.md\nshows an example.',
    options: [
      { flags: '--base-url <url>', about: 'the address that people use, such as https://gantry.example' },
      { flags: '--listen <host:port>', about: 'where to listen (default 127.0.0.1:3010)' },
      { flags: '--oidc-issuer <url>', about: 'the OpenID provider people sign in with' },
      { flags: '--oidc-client-id <id>', about: 'this cloud’s client ID at the provider' },
      { flags: '--oidc-client-secret-file <file>', about: 'file with the client secret (default: none, only PKCE)' },
      {
        flags: '--trusted-proxy <list>',
        about: 'proxies in front whose X-Forwarded-For is trusted, such as 10.0.0.0/8',
      },
      { flags: '--replica-url <url>', about: 'where other replicas on the same database reach this one' },
      {
        flags: '--events-edge-url <url>',
        about:
          'a separate address for apps, such as https://events.gantry.example (default: /edge below the base address)',
      },
      newMasterKey,
    ],
    load: () => import('./cloud/cloud.ts').then((m) => m.cloud),
  },
  {
    name: 'runtime',
    stays: true,
    about: 'Run only the runtime, paired with a cloud, without a web interface',
    more: 'If it is not paired, it asks the cloud for a code, prints it with the address to approve it at, and waits. GANTRY_CLOUD is\nthe same as --cloud. docs/computers.md says what a cloud can see and do.',
    options: [
      { flags: '--cloud <address>', about: 'the cloud to pair with, such as https://gantry.example' },
      noEngine,
      { flags: '--engine-port <n>', about: 'port of the runtime (default 3011; 0: any free one)' },
      { flags: '--peer-port <n>', about: 'port for other computers, while this one is paired (default 3019)' },
      { flags: '--event-streams <n>', about: 'most open event streams for one caller (default 64)' },
      { flags: '--trust <hash>', about: 'agree to what the workspace wants to run, if it has this hash' },
      { flags: '--stop-bots', about: 'stop the bots too when the runtime stops' },
      newMasterKey,
    ],
    load: () => import('./pairing/runtime.ts').then((m) => m.runtime),
  },
  worker,
  computerHost,
  {
    name: 'pair',
    args: '[cloud]',
    about: 'Pair this computer with a cloud, show the pairing, or end it',
    more: 'gantry pair https://gantry.example   asks for a code, prints it, and waits until you approve it in a browser\ngantry pair                          shows the pairing',
    options: [
      { flags: '--status', about: 'show the pairing' },
      { flags: '--end', about: 'end the pairing and revoke the cloud’s keys to this computer' },
    ],
    mutation: true,
    load: () => import('./pairing/pair.ts').then((m) => m.pair),
  },
  plain('explainWhy', {
    name: 'why',
    args: '<what>',
    about: 'Explain in one sentence the state of a bot, step, delivery or run',
    more: '<what> is the name of a bot, or the id of a step (node_…), delivery or run; with --run also the name of a step.',
    load: () => import('./verbs/why.ts').then((m) => m.why),
  }),
  {
    name: 'wait',
    args: '<what>',
    about: 'Wait until a bot, step, run, task or approval has a state',
    more: '<what> is the name of a bot, or the id of a run, step (node_…), task or approval; with --run also the name of a step.\nWithout --for it waits until a bot is idle or done, a step or run is done, a task has succeeded, an approval is approved.\nExit code: 0 it has the state, 2 unknown, 4 timed out, 5 it needs you first, 6 it ended in another one.',
    options: [
      { flags: '--run <run>', about: 'the run that the step belongs to' },
      { flags: '--for <states>', about: 'the states to wait for, separated by commas' },
      { flags: '--timeout <time>', about: 'how long to wait, such as 90s, 10m or 2h (default: no limit)' },
    ],
    load: () => import('./verbs/wait.ts').then((m) => m.wait),
  },
  {
    name: 'trust',
    about: 'Show what the workspace wants to run, and agree to it or refuse',
    more: 'Policy, teams, templates and settings of agent programs have no effect until you agree to their content, and again whenever it\nchanges. In a terminal it asks; elsewhere give the hash it shows. Exit code 5: something waits for your answer.',
    options: [
      { flags: '--yes <hash>', about: 'agree to what was shown with this hash' },
      {
        flags: '--no <hash>',
        about: 'refuse it: it has no effect, and you are not asked about this content again',
      },
      { flags: '--file <paths>', about: 'only these files, comma-separated' },
      { flags: '--allow <names>', about: 'variables that load code, such as NODE_OPTIONS, to allow by name' },
    ],
    mutation: true,
    load: () => import('./verbs/trust.ts').then((m) => m.trust),
  },
  install,
  backup,
  restore,
];
