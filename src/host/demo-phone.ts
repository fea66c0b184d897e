/**
 * The demo phone of `gantry start --demo-phone`: the simulated carrier as a child process, restarted when it dies, ended with Gantry. Its state is in
 * the data folder. Must not know the phone.
 */
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { SimulatorAsked, SimulatorSaid } from '../../tools/carrier-simulator/protocol.ts';
import { AppError } from '../contracts/common/errors.ts';
import { carrierWebhook } from '../contracts/phone/texts.ts';
import type { Timers } from '../kit/clock/timers.ts';
import { programCommand } from '../kit/process/programs.ts';
import { type ServedProcess, startServedProcess } from '../kit/process/served-process.ts';
import type { PhoneSettings } from './phone-settings.ts';

/** It reads a file and listens; a machine under load takes seconds for it. */
const readyMs = 15_000;
/** Between a death and the next start, ms. */
const pauses = [200, 1_000, 5_000];
/** One that lived so long was well. */
const wellMs = 60_000;

export interface RunningDemoPhone {
  readonly settings: PhoneSettings;
  /** Of the child now; null while it is being started again. */
  pid(): number | null;
  close(): Promise<void>;
}

/** Fails with `refused` when it does not come up. */
export async function startDemoPhone(deps: {
  /** Where its state lies. */
  readonly file: string;
  /** At which it reaches this cloud, without a slash at the end. */
  readonly origin: string;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  readonly command?: readonly [string, ...string[]];
}): Promise<RunningDemoPhone> {
  const apiKey = `KEY${randomBytes(24).toString('hex')}`;
  const webhookUrl = `${deps.origin}${carrierWebhook.path.replace(':carrier', 'simulator')}`;
  const command = deps.command ?? programCommand('carrier-simulator');
  let port = 0;
  let child: ServedProcess | null = null;
  let deaths = 0;
  let closed = false;
  let cancel: () => void = () => {};
  let starting: Promise<unknown> = Promise.resolve();

  async function start(): Promise<SimulatorSaid> {
    const program = await startServedProcess({ command });
    const asked: SimulatorAsked = { file: deps.file, port, apiKey, webhookUrl };
    program.stdin.write(`${JSON.stringify(asked)}\n`);
    const said = await firstLine(program, deps.timers);
    if (said === null || closed) {
      await program.end();
      throw new AppError(
        'refused',
        `The demo phone did not start: ${program.complaint().trim() || 'it printed nothing'}.`,
        `If its state is damaged, move ${deps.file} aside: the demo then starts over.`,
      );
    }
    child = program;
    // Who speaks with it keeps its address: it comes back to the same.
    port = Number(new URL(said.origin).port);
    const forgive = deps.timers.after(wellMs, () => {
      deaths = 0;
    });
    void program.exited.then(({ code, signal }) => {
      forgive();
      child = null;
      if (closed) return;
      deps.log.warn('The demo phone ended and is being restarted.', { code, signal, said: program.complaint() });
      again();
    });
    return said;
  }

  function again(): void {
    const pause = pauses[Math.min(deaths, pauses.length - 1)] as number;
    deaths += 1;
    cancel = deps.timers.after(pause, () => {
      starting = start().catch((fault: unknown) => {
        if (closed) return;
        deps.log.warn('The demo phone could not be restarted.', { fault: String(fault) });
        again();
      });
    });
  }

  const said = await start();
  return {
    settings: {
      carrier: 'simulator',
      apiKey,
      publicKey: said.publicKey,
      connectionId: 'demo',
      url: said.url,
      webhookUrl: deps.origin,
    },
    pid: () => child?.pid ?? null,
    async close() {
      closed = true;
      cancel();
      await starting;
      await child?.end();
    },
  };
}

/** Null: it ended, or said nothing in time. */
function firstLine(program: ServedProcess, timers: Timers): Promise<SimulatorSaid | null> {
  const lines = createInterface({ input: program.stdout });
  return new Promise((resolve) => {
    const cancel = timers.after(readyMs, () => resolve(null));
    const end = (said: SimulatorSaid | null) => {
      cancel();
      resolve(said);
    };
    lines.once('line', (line) => end(JSON.parse(line) as SimulatorSaid));
    void program.exited.then(() => end(null));
  });
}
