/** Composes a hosted computer's engine: store, questions, executor, link. Must not know displays. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { answerHostedApproval } from '../contracts/hosted-computers/device.ts';
import { systemClock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createDispatcher } from '../kit/http/dispatcher.ts';
import { bind } from '../kit/http/types.ts';
import { createIds } from '../kit/ids/ids.ts';
import { createLog } from '../kit/log/log.ts';
import { programCommand } from '../kit/process/programs.ts';
import { findBubblewrap } from '../kit/sandbox/bubblewrap.ts';
import { ensureTokenFile } from '../kit/secrets/token-file.ts';
import { openStore } from '../kit/store/open-store.ts';
import { createHands } from '../runtime-server/computer-use/create-hands.ts';
import { handsMigrations } from '../runtime-server/computer-use/migrations.ts';
import { createOwnQuestions } from '../runtime-server/computer-use/own-questions.ts';
import { defaultSession } from '../runtime-server/computer-use/read-call.ts';
import { createShellProgram, shellSandbox } from '../runtime-server/computer-use/shell-program.ts';
import { createPolicy } from '../runtime-server/policy/index.ts';
import { nothingAgreed } from '../runtime-server/trust/trust.ts';
import { createHostedDialer } from './hosted-dialer.ts';
import { type OpenConnections, openConnections, openNowhere } from './listeners.ts';

interface HostedDevice {
  /** Of this start: proves that a connection on the socket is offered by its cloud. */
  readonly token: string;
  /** Where connections are offered to it, on which it dials. */
  readonly socket: string;
  readonly folder: string;
  /** `shell`: it has no screen, and runs commands in place of the executor. */
  readonly toolset: 'desktop' | 'shell';
  /** Nobody waits for it: it dials only once its browser is open. */
  readonly warm: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What listens on the socket already; null: nothing does yet. */
  readonly connections: OpenConnections | null;
}

/** Only this program runs in its folder: the computer has no other. Ends with the computer. */
export async function serveHostedDevice({
  token,
  socket,
  folder,
  toolset,
  warm,
  env,
  connections: opened,
}: HostedDevice): Promise<void> {
  const clock = systemClock;
  const timers = systemTimers;
  const ids = createIds(clock);
  const log = createLog({ folder: join(folder, 'logs'), name: 'device', clock, known: () => [token] });
  const [early, store] = await Promise.all([
    opened ?? (warm ? null : openConnections(socket)),
    openStore({
      file: join(folder, 'device.db'),
      migrations: handsMigrations,
      clock,
      onFault: (fault) => log.error('An effect after a commit failed.', { fault }),
    }),
  ]);
  const dialer = createHostedDialer({ secret: token, clock, timers, log });
  const questions = createOwnQuestions({ store, ids, timers });
  const hands = createHands({
    store,
    // There is no workspace, and so no file: the defaults hold.
    policy: createPolicy({ workspace: join(folder, 'no-workspace'), trust: nothingAgreed, log }),
    questions,
    clock,
    timers,
    ids,
    log,
    command: toolset === 'shell' ? { shell: await openShell(env) } : programCommand('executor'),
    env,
    folder: join(folder, 'hands'),
    // There is no workspace: what its programs and its browser have put down. The rest below `folder` is Gantry's own.
    uploads: { roots: [homedir(), join(folder, 'hands', 'downloads')], hidden: [folder] },
    // The same after a restart: an approval is bound to its action by it.
    secret: ensureTokenFile(join(folder, 'secret')),
    ownPorts: () => [],
    defaults: 'hosted',
    approver: 'owner',
    // The cloud puts its page here: the computer does not know which one it is.
    approveUrl: (id) => `/approvals/${id}`,
  });
  await hands.start();
  const answer = bind(answerHostedApproval, async ({ params, body }) => {
    const state = body.decision === 'approve' ? ('approved' as const) : ('denied' as const);
    return { body: { state: await questions.answer(params.approvalId, { state, by: body.by }) } };
  });
  const dispatcher = createDispatcher({
    listener: { kind: 'socket' },
    routes: [...hands.routes, answer],
    owners: {},
    authenticators: [dialer.authenticator],
    ids,
    log,
    shape: 'computers',
  });
  // Its browser is on the display from the beginning; where it cannot be opened, the call that needs it says why.
  const openBrowser = () =>
    hands.gate.sessions
      .open(defaultSession, { headless: false, trace: false })
      .catch((fault: unknown) => log.warn('The browser could not be opened yet.', { fault }));
  if (warm && toolset === 'desktop') await openBrowser();
  const listener = openNowhere();
  listener.serve((request, response) => void dispatcher.handle(request, response));
  dialer.serve(early ?? (await openConnections(socket)), listener.accept);
  if (!warm && toolset === 'desktop') await openBrowser();
}

/** Ends the computer's start with the reason where commands could not be kept from Gantry's own files and processes. */
async function openShell(env: HostedDevice['env']) {
  const home = homedir();
  const path = env.PATH ?? '';
  const bubblewrap = await findBubblewrap({ path, sandbox: shellSandbox(home) });
  if (typeof bubblewrap === 'string') throw new Error(`Commands cannot be run here: ${bubblewrap}.`);
  return createShellProgram({ bubblewrap, home, env: { PATH: path, LANG: env.LANG ?? 'C.UTF-8' } });
}
