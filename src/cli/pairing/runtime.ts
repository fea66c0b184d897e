/**
 * `gantry runtime`: runs only this computer's half, without a web interface; its person reaches it through a cloud. Pairs first if necessary, and
 * runs until it is stopped. Imports the servers only here.
 */

import { resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { LocalPairing } from '../../contracts/link/local-pairing.ts';
import { giveBackStartMemory } from '../../host/give-back-memory.ts';
import { pairedCloud } from '../../host/paired-cloud.ts';
import type { RuntimeAlone } from '../../host/runtime-alone.ts';
import { readSettings } from '../../host/settings.ts';
import { beginUnwatched } from '../../host/watchdog.ts';
import { type Action, type Context, flag, optionalText } from '../command.ts';
import { makeMasterKeyIfAsked } from '../new-master-key.ts';
import { catchSignals } from '../start/signals.ts';
import { waitingLine } from '../start/waiting.ts';
import { watchServer } from '../start/watched.ts';
import { inCell } from '../words.ts';
import { codeLines, statusLines } from './words.ts';

/** A person sees that they were let in within a second of it, ms. */
const lookMs = 1000;
/** A cloud that was there when the first code was asked for is asked again as often as this, ms. */
const againMs = 30_000;

export const runtime: Action = async (context, input) => {
  beginUnwatched(context.env);
  const cloudUrl = optionalText(input, 'cloud') ?? context.env.GANTRY_CLOUD;
  const named = optionalText(input, 'workspace');
  makeMasterKeyIfAsked(context, input);
  const settings = readSettings(context.env, {
    enginePort: optionalText(input, 'enginePort'),
    peerPort: optionalText(input, 'peerPort'),
    eventStreams: optionalText(input, 'eventStreams'),
  });
  const { startRuntimeAlone } = await import('../../host/runtime-alone.ts');
  checkCloud(settings.home, cloudUrl, pairedCloud(settings.home), context);
  const signals = catchSignals();
  const servers = await startRuntimeAlone({
    env: context.env,
    settings,
    workspace: named === undefined ? undefined : resolve(context.cwd, named),
    gantry: context.names.gantry,
    trust: optionalText(input, 'trust'),
  });
  for (const notice of servers.notices) context.output.note(notice);
  try {
    announce(context, servers, await ensurePairing(servers, cloudUrl));
  } catch (error) {
    await servers.close();
    throw error;
  }
  const watchdog = watchServer(context.env, settings.home);
  const stopWatching = watch(context, servers, cloudUrl);
  giveBackStartMemory();
  const ending = signals.endWith(context, {
    interactive: !context.output.json && context.terminal.stdin.isTTY === true,
    stopBots: flag(input, 'stopBots'),
    names: { ...context.names, start: `${context.names.gantry} runtime` },
    liveBots: () => servers.liveBots(),
    close: (stopBots) => {
      stopWatching();
      watchdog.end();
      return servers.close({ stopBots });
    },
  });
  if (signals.early !== null) ending.ask(signals.early);
  const code = await ending.ended;
  // Whatever still waits must not keep a stopped runtime alive.
  setTimeout(() => process.exit(code), 500).unref();
  return code;
};

/** Before anything starts: where to go, and that it is where this computer belongs. */
function checkCloud(home: string, cloudUrl: string | undefined, pairedWith: string | null, { names }: Context): void {
  if (cloudUrl === undefined && pairedWith === null) {
    throw new AppError(
      'usage',
      `The computer of ${home} is not paired.`,
      `Name the cloud: ${names.gantry} runtime --cloud <address>`,
    );
  }
  if (cloudUrl === undefined || pairedWith === null || isSame(cloudUrl, pairedWith)) return;
  throw new AppError(
    'refused',
    `This computer is paired with ${pairedWith}, not with ${cloudUrl}.`,
    `Leave --cloud out, or start it and end that pairing first: ${names.gantry} pair --end`,
  );
}

/** The pairing as it is, or begun now. */
async function ensurePairing({ pairing }: RuntimeAlone, cloudUrl: string | undefined): Promise<LocalPairing> {
  const now = pairing.status();
  if (now.state === 'paired') return now;
  if (cloudUrl !== undefined) return pairing.begin(cloudUrl);
  throw new AppError('refused', now.problem ?? 'This computer is not paired.', 'Pair it again with --cloud <address>.');
}

function isSame(given: string, cloudUrl: string): boolean {
  return (
    (given.includes('://') ? given : `https://${given}`).replace(/\/+$/, '').toLowerCase() === cloudUrl.toLowerCase()
  );
}

function announce(context: Context, servers: RuntimeAlone, pairing: LocalPairing): void {
  const { engineUrl: engine, home, workspace } = servers;
  // The link is being dialled at this moment: that it is down says nothing yet.
  const { link: _link, problem: _problem, ...known } = pairing;
  context.output.result({ pairing, engine, home, workspace, pid: process.pid }, () =>
    [
      ...(pairing.state === 'paired'
        ? ['The runtime is ready.', '', ...statusLines(known, context.names).slice(2)]
        : ['The runtime is ready and waits for your approval:', '', ...codeLines(pairing), '']),
      `  Data      ${home}`,
      `  Workspace ${workspace}`,
      ...waitingLine(servers.waiting(), context.names.gantry),
      `  Stop      Ctrl-C`,
      '',
    ].join('\n'),
  );
}

/** Says what becomes of the pairing, and asks for a new code when one came to nothing. Returns the way to stop. */
function watch(context: Context, { pairing, questions }: RuntimeAlone, cloudUrl: string | undefined): () => void {
  const told = new Set<string>();
  let before = pairing.status().state;
  let wantsCode = false;
  let quietUntil = 0;
  const timer = setInterval(() => {
    const now = pairing.status();
    questions().then(
      (waiting) => {
        const fresh = waiting.filter(({ id }) => !told.has(id));
        for (const { id, title } of fresh) {
          told.add(id);
          context.output.note(questionLine(title, now));
        }
      },
      // The disk takes nothing for now: asked again with the next look.
      () => {},
    );
    if (now.state !== before) {
      if (now.state === 'paired') context.output.line(['', ...statusLines(now, context.names)].join('\n'));
      if (now.state === 'unpaired') context.output.note(now.problem ?? 'The pairing has ended.');
      // Ending a pairing on purpose asks for no new one.
      wantsCode = now.state === 'unpaired' && before === 'waiting';
      before = now.state;
    }
    if (!wantsCode || cloudUrl === undefined || performance.now() < quietUntil) return;
    quietUntil = performance.now() + againMs;
    pairing.begin(cloudUrl).then(
      (asked) => context.output.line(['A new code:', '', ...codeLines(asked)].join('\n')),
      (error: unknown) => context.output.note(error instanceof AppError ? error.fact : String(error)),
    );
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Says where the question is answered: this computer has no screen for it. */
function questionLine(title: string, { state, cloudUrl }: LocalPairing): string {
  const where =
    state === 'paired' ? `Answer it at ${cloudUrl}/inbox` : 'It can be answered once this computer is paired';
  return `Approval needed: ${inCell(title)}. ${where}.`;
}
