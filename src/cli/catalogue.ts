/** Every part and verb of Gantry's command line, with the words of its help. */
import { admin } from './admin/catalogue.ts';
import { backup, restore } from './backup/catalogue.ts';
import type { Option, Part, Verb } from './command.ts';
import { computerHost } from './computer-host/catalogue.ts';
import { install } from './install/catalogue.ts';
import { tools } from './tools/catalogue.ts';
import { agents, orchestration, teams } from './verbs/catalogue.ts';
import { ledgerExport, ledgerQuery, ledgerVerify, vault } from './work-engine/catalogue.ts';
import { worker } from './worker/catalogue.ts';
import { workflows, workspace } from './workflows/catalogue.ts';

const noEngine: Option = {
  flags: '--workspace <folder>',
  about: 'the folder the bots work in (default: the last one used)',
};

const newMasterKey: Option = {
  flags: '--new-master-key',
  about: 'where master.key was lost: make a new one, and lose what it had sealed',
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
      { flags: '--trust <hash>', about: 'agree to what the workspace wants to run, if all of it has this hash' },
      { flags: '--stop-bots', about: 'stop the bots too when Gantry is stopped' },
      newMasterKey,
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
    about: 'Print a one-time sign-in link and open it in your browser',
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
    more: 'Each option is also a variable: GANTRY_BASE_URL, GANTRY_LISTEN, GANTRY_OIDC_ISSUER, GANTRY_OIDC_CLIENT_ID,\nGANTRY_OIDC_CLIENT_SECRET_FILE, GANTRY_TRUSTED_PROXY, GANTRY_REPLICA_URL,\nGANTRY_EVENTS_EDGE_URL. The data lies in GANTRY_HOME, or in\nthe PostgreSQL of DATABASE_URL (postgres://user:password@host:5432/name), which several may share. docs/identity.md shows an example.',
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
      newMasterKey,
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
      { flags: '--trust <hash>', about: 'agree to what the workspace wants to run, if all of it has this hash' },
      { flags: '--stop-bots', about: 'stop the bots too when the runtime is stopped' },
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
  {
    name: 'trust',
    about: 'Show what the workspace wants to run, and agree to it or refuse',
    more: 'Policy, teams, templates and settings of agent programs have no effect until you agree to their content, and again whenever it\nchanges. In a terminal it asks; elsewhere give the hash that it shows. Exit code 5: something waits for your answer.',
    options: [
      { flags: '--yes <hash>', about: 'agree to what was shown with this hash' },
      {
        flags: '--no <hash>',
        about: 'refuse it: it stays without effect, and you are not asked about this content again',
      },
      { flags: '--file <paths>', about: 'only these files, with commas between them' },
      { flags: '--allow <names>', about: 'variables that load code, such as NODE_OPTIONS, agreed to by name' },
    ],
    mutation: true,
    load: () => import('./verbs/trust.ts').then((m) => m.trust),
  },
  install,
  backup,
  restore,
];
