/**
 * Runtime and cloud API in one process: what `gantry start` runs. The same two parts also run separately; here the link
 * between them is this computer's socket.
 */

import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import { AppError } from '../contracts/common/errors.ts';
import type { LocalPairing } from '../contracts/link/local-pairing.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createCloud } from './cloud.ts';
import { readComputerBounds, readComputersCluster, readComputersEngine } from './computers-engine.ts';
import { startDemoPhone } from './demo-phone.ts';
import { readImageRules } from './image-rules.ts';
import { openPort } from './listeners.ts';
import { type Computer, type ComputerOptions, openComputer } from './open-computer.ts';
import { type PhoneSettings, readPhoneLimits, readPhoneSettings } from './phone-settings.ts';
import { readPushSettings } from './push-settings.ts';
import { userName } from './user-name.ts';

export interface Combined extends Computer {
  /** Address of the web interface, `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly engineSocket: string;
  /** True when the workspace was made just now, with the sample in it. */
  readonly workspaceCreated: boolean;
  openUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
  /** How this computer stands with a cloud. */
  pairing(): LocalPairing;
  /** The computer goes to sleep, or is back. */
  rest(asleep: boolean): void;
  /** Reads the pairing file at once, not only within half a minute. */
  checkPairing(): Promise<void>;
}

/** Fails with `refused` while another instance runs, and with `transport` when a port is taken; nothing is left behind. */
export function startCombined(
  options: ComputerOptions & {
    readonly rendererFolder?: string;
    /** A simulated carrier, in place of a real one. */
    readonly demoPhone?: boolean;
    /** In place of what the environment says. */
    readonly phone?: PhoneSettings;
  },
): Promise<Combined> {
  return openComputer(options, async ({ places, folder, clock, ids, log, telemetry, closing, limits, openRuntime }) => {
    const demoOptions = (at: string) => ({ file: places.demoPhone, origin: at, timers: systemTimers, log });
    // Both ports before anything else: a taken one must not leave half a start behind.
    const listener = await openPort(options.settings.port.value, '--port');
    closing.add('web port', () => listener.close());
    const origin = `http://127.0.0.1:${listener.port}`;
    const phone = options.phone ?? readPhoneSettings(options.env);
    if (options.demoPhone === true && phone !== null) throw twoCarriers();
    const demo = options.demoPhone === true ? await startDemoPhone(demoOptions(origin)) : null;
    if (demo !== null) closing.add('demo phone', () => demo.close());
    const checks = createChecks();
    checks.add(() => [sealedBy(places.masterKey), listening('Web interface', origin)]);
    const { runtime, computer } = await openRuntime({
      homeCloud: () => ({ host: '127.0.0.1', port: listener.port }),
      hostChecks: checks.run,
    });
    checks.add(() => [listening('Factory engine', computer.engineUrl)]);
    const cloud = await createCloud({
      databaseFile: places.cloudDb,
      listener,
      openLink: () => ({ link: runtime.link, close() {} }),
      masterKey: folder.masterKey,
      internalToken: folder.internalToken,
      mode: {
        kind: 'embedded',
        ownerToken: folder.ownerToken,
        device: runtime.device,
        computer: folder.computer,
        userName: userName(),
        pairing: runtime.homeLink.routes,
        home: runtime.homeLink.connection,
      },
      clock,
      ids,
      log,
      telemetry,
      gantry: options.gantry,
      rendererFolder: options.rendererFolder,
      limits,
      answers: options.answers,
      computersFolder: options.env.GANTRY_COMPUTERS || undefined,
      computersEngine: containerEngineIn(options.env),
      computerBounds: readComputerBounds(options.env),
      push: readPushSettings(options.env),
      taskImages: readImageRules(options.env, 'GANTRY_TASK_IMAGES'),
      phone: demo === null ? phone : { ...demo.settings, ...readPhoneLimits(options.env) },
    });
    checks.add(() => cloud.checks());
    closing.add('cloud', () => cloud.close());
    closing.add('streams', () => runtime.endStreams());
    await runtime.start();
    folder.announce(origin);
    log.info('Gantry started.', { origin, engine: computer.engineUrl, workspace: computer.workspace });
    return {
      ...computer,
      origin,
      engineSocket: places.engineSocket,
      workspaceCreated: runtime.workspace.created,
      notices: [...computer.notices, ...cloud.notices],
      openUrl: (next) => cloud.openUrl(next),
      pairing: () => runtime.homeLink.pairing.status(),
      rest: (asleep) => runtime.homeLink.rest(asleep),
      checkPairing: () => runtime.homeLink.pairing.readFile(),
    };
  });
}

/** Computers in a cluster dial at the address of a cloud, and this one takes no dials. */
function containerEngineIn(env: ComputerOptions['env']) {
  if (readComputersCluster(env) === null) return readComputersEngine(env);
  const action = 'Start gantry cloud, or name the socket of a container engine.';
  throw new AppError('usage', 'GANTRY_COMPUTERS_ENGINE is kubernetes, which only gantry cloud can use.', action);
}

function twoCarriers(): AppError {
  return new AppError(
    'usage',
    'A carrier is configured (GANTRY_TELNYX_…), so the demo phone cannot run.',
    'Leave out --demo-phone, or unset the carrier variables.',
  );
}

function sealedBy(file: string) {
  const detail = `Secrets are sealed with the key in ${file}, which only you can read. Backups contain it too.`;
  return { name: 'Master key', group: 'secret', state: 'ok', version: null, detail, fix: null } as const;
}

function listening(name: string, address: string) {
  return { name, group: 'port', state: 'ok', version: null, detail: `Listens on ${address}.`, fix: null } as const;
}

/** Checks of this program for `gantry doctor`, in the order in which its parts added them, each once it was there. */
type Check = () => Promise<readonly DoctorCheck[]> | readonly DoctorCheck[];

function createChecks(): { add(check: Check): void; run(): Promise<readonly DoctorCheck[]> } {
  const checks: Check[] = [];
  return {
    add: (check) => void checks.push(check),
    run: async () => (await Promise.all(checks.map((check) => check()))).flat(),
  };
}
