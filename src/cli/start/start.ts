/**
 * `gantry start`: starts the servers in this process, prints the one address, and runs until it is stopped. Imports the servers only here, and
 * nothing that only a screen needs, because loaded code stays in memory.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { LocalPairing } from '../../contracts/link/local-pairing.ts';
import type { Combined } from '../../host/combined.ts';
import { giveBackStartMemory } from '../../host/give-back-memory.ts';
import { packageRoot } from '../../host/places.ts';
import { readSettings } from '../../host/settings.ts';
import { beginUnwatched } from '../../host/watchdog.ts';
import { type Action, type Context, flag, type Input, optionalFlag, optionalText } from '../command.ts';
import { makeMasterKeyIfAsked } from '../new-master-key.ts';
import { inCell } from '../words.ts';
import { asService, settleIn } from './as-service.ts';
import { askWorkspace } from './ask-workspace.ts';
import { openBrowser } from './browser.ts';
import type { Reason } from './ending.ts';
import { catchSignals } from './signals.ts';
import { hereAndNow, overSsh, sshLine } from './surroundings.ts';
import { waitingLine } from './waiting.ts';
import { watchServer } from './watched.ts';
import { openWindow } from './window.ts';

export const start: Action = async (given, input) => {
  beginUnwatched(given.env);
  const context = asService(given, input);
  const service = context !== given;
  makeMasterKeyIfAsked(context, input);
  const settings = readSettings(context.env, {
    port: optionalText(input, 'port'),
    enginePort: optionalText(input, 'enginePort'),
    peerPort: optionalText(input, 'peerPort'),
    eventStreams: optionalText(input, 'eventStreams'),
  });
  const interactive = !context.output.json && context.terminal.stdin.isTTY === true && isForeground();
  const named = optionalText(input, 'workspace');
  const asks = named === undefined && interactive && !flag(input, 'headless');
  const workspace = asks ? await askWorkspace(context) : named;
  if (workspace === 'gone') {
    context.output.note('Nothing was started.');
    return 1;
  }
  const signals = catchSignals();
  if (context.env.npm_lifecycle_event === 'start') watchParent(() => signals.ask('SIGTERM'));
  const { startCombined } = await import('../../host/combined.ts');
  const servers = await startCombined({
    env: context.env,
    settings,
    workspace: workspace === undefined ? undefined : resolve(context.cwd, workspace),
    gantry: context.names.gantry,
    trust: optionalText(input, 'trust'),
    demoPhone: flag(input, 'demoPhone'),
  });
  for (const notice of servers.notices) context.output.note(notice);
  const watchdog = watchServer(given.env, settings.home, { service, more: ['--headless'] });
  giveBackStartMemory();

  const ending = signals.endWith(context, {
    interactive,
    stopBots: flag(input, 'stopBots'),
    names: context.names,
    liveBots: () => servers.liveBots(),
    close(stopBots) {
      watchdog.end();
      return servers.close({ stopBots });
    },
  });
  const { early } = signals;
  if (early === null && service) await settleIn(context, servers, settings.panes.restartBots !== false);
  else if (early === null) await announce(context, input, servers, interactive, ending.ask);
  else ending.ask(early);
  const code = await ending.ended;
  // Whatever still waits (a browser's sockets, a key) must not keep a stopped Gantry alive.
  setTimeout(() => process.exit(code), 500).unref();
  context.terminal.stdin.pause();
  return code;
};

async function announce(
  context: Context,
  input: Input,
  servers: Combined,
  interactive: boolean,
  end: (reason: Reason) => void,
): Promise<void> {
  const place = hereAndNow(context.env);
  const code = await servers.openUrl();
  if (context.output.json) {
    const { home, workspace, engineUrl } = servers;
    const waiting = servers.waiting();
    const waits = waiting.hash === null ? {} : { waits: waiting };
    context.output.result({ ...code, engine: engineUrl, home, workspace, pid: process.pid, ...waits }, () => '');
    return;
  }
  const port = Number(new URL(servers.origin).port);
  const lines = [
    'Gantry is ready.',
    '',
    ...(overSsh(place) ? [`  First, on your own computer:  ${sshLine(place, port)}`] : []),
    `  Open       ${code.url}`,
    `             valid once, for ten minutes; ${interactive ? 'Enter prints a new one' : `new one: ${context.names.gantry} open`}`,
    `  Data       ${servers.home}`,
    `  Workspace  ${servers.workspace}`,
    ...waitingLine(servers.waiting(), context.names.gantry),
    ...homeLine(servers.pairing()),
    ...(flag(input, 'demoPhone') ? ['  Phone      simulated: no real texts or calls'] : []),
    `  Stop       ${interactive ? 'Ctrl-C' : `${context.names.gantry} stop`}`,
    '',
  ];
  context.output.line(lines.join('\n'));
  if (interactive) readEnter(context, servers);
  if (flag(input, 'headless')) return;
  const shown = await openWindow(
    {
      env: context.env,
      place,
      home: servers.home,
      entry: join(packageRoot(), 'out', 'main', 'main.js'),
    },
    () => end('window'),
  );
  if (!shown && interactive && optionalFlag(input, 'open') !== false) {
    // Uses a separate code: the printed one stays valid for another browser.
    const why = await openBrowser((await servers.openUrl()).url, place);
    if (why !== null && !overSsh(place)) context.output.note(`No browser was opened: ${why}.`);
  }
}

/** A paired computer asks its person elsewhere, too. */
function homeLine({ state, cloudUrl, user, problem }: LocalPairing): string[] {
  if (state === 'paired') return [`  Paired     with ${cloudUrl}, as ${inCell(user?.name ?? '')}`];
  return problem === undefined ? [] : [`  Not paired ${inCell(problem)}`];
}

function readEnter(context: Context, servers: Combined): void {
  const { stdin } = context.terminal;
  stdin.on('data', (data: Buffer) => {
    if (!data.includes(10)) return;
    servers.openUrl().then(
      (code) => context.output.line(code.url),
      (error: unknown) => context.output.note(`No new address was made: ${String(error)}`),
    );
  });
  // The first start's question closes its reader, which pauses the terminal; adding a listener does not resume it.
  stdin.resume();
}

/**
 * npm hands a signal to the shell that it runs a script in, and many shells end without passing it on: `kill` of an `npm start`
 * would leave these servers behind, holding their ports. The shell's end is the signal.
 */
function watchParent(gone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone();
  }, 500);
  timer.unref();
}

/** Reading the terminal from the background would stop this process. Known on Linux; elsewhere taken for granted. */
function isForeground(): boolean {
  try {
    const status = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
