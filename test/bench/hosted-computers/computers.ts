/**
 * Hosted computers as people get them: the built helper in its own network, driven as the cloud drives it. Boot and wake end with a picture of the
 * display, because callers wait for that.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createNamespaceDriver, type OfferingDriver } from '../../../src/cloud-api/hosted-computers/index.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import type { HostedState } from '../../../src/programs/computer-host/protocol.ts';
import { namesFor } from '../../../src/programs/computer-host/settings.ts';
import { noEngine, openDocker } from '../../conformance/hosted-computers/docker-subject.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import { linkComputer } from '../../support/computers/dialled.ts';
import { notMeasured } from '../../support/computers/drivers.ts';
import {
  clearAway,
  driveComputer,
  type Helper,
  helperFolder,
  noComputers,
  startHelper,
} from '../../support/computers/helper.ts';
import { createWorld } from '../../support/computers/world.ts';
import { noDaemon } from '../../support/docker/daemon.ts';

export const figures: readonly Figure[] = [
  { name: 'hosted-computers.boot', run: boot },
  { name: 'hosted-computers.wake', run: wake },
  { name: 'hosted-computers.memory', run: memory },
  { name: 'hosted-computers.four', run: four },
  { name: 'hosted-computers.claim', run: claim },
];

const program = fileURLToPath(new URL('../../../scripts/gantry.mjs', import.meta.url));
const at = 'gantry computer-host, one machine: network namespace, bubblewrap, Xvfb 1280x800, Chromium with its sandbox';

interface Made {
  readonly state: HostedState;
  /** Milliseconds from the request to make it. */
  readonly answered: number;
  readonly pictured: number;
}

async function withHelper(
  unit: string,
  work: (helper: Helper, folder: string) => Promise<Measured>,
): Promise<Measured> {
  const missing = noComputers();
  if (missing !== null) return { value: null, unit, n: 0, at, why: missing };
  const folder = helperFolder();
  const world = await createWorld();
  try {
    const helper = await startHelper({ world, folder, program });
    try {
      return await work(helper, folder);
    } finally {
      await helper.stop();
    }
  } finally {
    world.close();
    clearAway(folder);
  }
}

const named = (number: number) => `cmp_${String(number).padStart(12, '0')}`;

async function make(helper: Helper, number: number): Promise<Made> {
  const began = performance.now();
  await helper.ask('create', named(number));
  const state = await helper.ask('start', named(number));
  const answered = performance.now() - began;
  await picture(state, 'computer');
  return { state, answered, pictured: performance.now() - began };
}

async function picture(state: HostedState, toolset: 'computer' | 'browser'): Promise<void> {
  const { status, body } = await driveComputer(state, toolset, 'screenshot');
  if (status !== 200 || body.is_error) throw new Error(`No picture: ${status} ${JSON.stringify(body).slice(0, 300)}`);
}

function boot({ quick, log }: FigureOptions): Promise<Measured> {
  return withHelper('ms from create to the first screenshot', async (helper) => {
    const rounds = quick ? 3 : 10;
    const made: Made[] = [];
    const browsers: number[] = [];
    // The first one also reads everything from the disk.
    for (let round = -1; round < rounds; round += 1) {
      const began = performance.now();
      const one = await make(helper, round + 1);
      await picture(one.state, 'browser');
      if (round >= 0) {
        made.push(one);
        browsers.push(performance.now() - began);
        log(`boot ${round + 1}: ${rounded(one.pictured, 0)} ms, its browser ${rounded(browsers.at(-1)!, 0)} ms`);
      }
      await helper.ask('delete', one.state.computer);
    }
    return {
      value: median(made.map(({ pictured }) => pictured)),
      unit: 'ms from create to the first screenshot',
      n: rounds,
      at: `${at}; one after another`,
      detail: {
        ...spread(made.map(({ pictured }) => pictured)),
        answering: rounded(median(made.map(({ answered }) => answered))),
        'first screenshot of the browser': rounded(median(browsers)),
      },
    };
  });
}

function wake({ quick }: FigureOptions): Promise<Measured> {
  const unit = 'ms from start of a frozen computer to its first screenshot';
  return withHelper(unit, async (helper) => {
    const { state } = await make(helper, 1);
    await picture(state, 'browser');
    const [sleeps, wakes]: [number[], number[]] = [[], []];
    for (let round = 0; round < (quick ? 10 : 40); round += 1) {
      const began = performance.now();
      await helper.ask('freeze', state.computer);
      sleeps.push(performance.now() - began);
      const woken = performance.now();
      await helper.ask('start', state.computer);
      await picture(state, 'computer');
      wakes.push(performance.now() - woken);
    }
    return { value: median(wakes), unit, n: wakes.length, at, detail: { ...spread(wakes), freeze: spread(sleeps) } };
  });
}

/** Memory that a group's processes have, each shared page counted for its part. Mebibytes. */
function memoryOf(folder: string, slot: number): number {
  const { group } = namesFor(folder);
  const found = spawnSync('find', ['/sys/fs/cgroup', '-path', `*/${group}/${slot}/cgroup.procs`], { encoding: 'utf8' });
  const pids = readFileSync(found.stdout.split('\n')[0] as string, 'utf8')
    .split('\n')
    .filter(Boolean);
  let kibibytes = 0;
  for (const pid of pids) {
    try {
      kibibytes += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // It is already gone.
    }
  }
  return kibibytes / 1024;
}

function memory({ quick }: FigureOptions): Promise<Measured> {
  const unit = 'MiB of PSS of the largest of the computers, each with a page open';
  return withHelper(unit, async (helper, folder) => {
    const count = quick ? 1 : 3;
    const sizes: number[] = [];
    for (let slot = 0; slot < count; slot += 1) {
      const { state } = await make(helper, slot);
      const opened = await driveComputer(state, 'browser', 'navigate', { url: 'http://public.example:8080/' });
      if (opened.status !== 200 || opened.body.is_error)
        throw new Error(`The page did not open: ${JSON.stringify(opened.body).slice(0, 300)}`);
      await picture(state, 'browser');
    }
    for (let slot = 0; slot < count; slot += 1) sizes.push(memoryOf(folder, slot));
    return { value: Math.max(...sizes), unit, n: count, at, detail: { sizes: sizes.map((size) => rounded(size, 0)) } };
  });
}

function four({ quick }: FigureOptions): Promise<Measured> {
  const unit = 'ms until all of four computers that are made at once have given a screenshot';
  return withHelper(unit, async (helper) => {
    const all: number[] = [];
    const each: number[] = [];
    for (let round = -1; round < (quick ? 1 : 4); round += 1) {
      const made = await Promise.all([0, 1, 2, 3].map((slot) => make(helper, slot)));
      if (round >= 0) {
        all.push(Math.max(...made.map(({ pictured }) => pictured)));
        each.push(...made.map(({ pictured }) => pictured));
      }
      await Promise.all(made.map(({ state }) => helper.ask('delete', state.computer)));
    }
    return { value: median(all), unit, n: all.length * 4, at, detail: { last: spread(all), each: spread(each) } };
  });
}

const firstCalls = { desktop: ['computer', 'screenshot', {}], shell: ['shell', 'exec', { command: 'true' }] } as const;

/** With one that is warm before each claim. Milliseconds from the create. */
async function claims(driver: OfferingDriver, toolset: keyof typeof firstCalls, rounds: number) {
  const callable: number[] = [];
  const acted: number[] = [];
  const [kind, member, input] = firstCalls[toolset];
  // The first one also reads from the disk what only a claim needs.
  for (let round = -1; round < rounds; round += 1) {
    await isWarm(driver, toolset);
    const computer = named(round + 2);
    const began = performance.now();
    const limits = { memory: null, processes: null };
    await driver.create({ computer, key: computer, image: null, limits, toolset, egress: 'public', lifetime: null });
    await driver.start(computer);
    const link = await linkComputer(computer, (dial) => driver.offer(computer, dial));
    await link.call('GET', `/api/v1/computers/this-device/toolset/schema?toolset=${kind}`);
    const answered = performance.now() - began;
    const { status, body } = await link.drive(kind, member, input);
    if (round >= 0) {
      callable.push(answered);
      acted.push(performance.now() - began);
    }
    await link.close();
    if (status !== 200 || body.is_error) throw new Error(`The first call: ${status} ${JSON.stringify(body)}`);
    await driver.delete(computer);
  }
  return { callable, acted };
}

/** Resolves once one is. */
async function isWarm(driver: OfferingDriver, toolset: keyof typeof firstCalls): Promise<void> {
  for (;;) {
    const { refused, warm } = await driver.capabilities();
    if (refused !== null || warm === null) throw new Error(refused ?? 'The driver keeps none warm.');
    if (warm[toolset] > 0) return;
    await delay(20);
  }
}

/** Each with one computer of each kind kept warm. */
const claimed: Readonly<
  Record<string, { missing(): string | null; open(): Promise<{ driver: OfferingDriver; close(): Promise<void> }> }>
> = {
  namespace: {
    missing: noComputers,
    async open() {
      const folder = helperFolder();
      const world = await createWorld();
      const more = ['--warm-desktop', '1', '--warm-shell', '1'];
      const helper = await startHelper({ world, folder, program, more });
      const driver = createNamespaceDriver({ folder, timers: systemTimers });
      const close = async () => {
        driver.close();
        await helper.stop();
        world.close();
        clearAway(folder);
      };
      return { driver, close };
    },
  },
  docker: {
    missing: () => noDaemon() ?? noEngine(),
    async open() {
      const subject = await openDocker('desktop');
      const driver = subject.connect({ GANTRY_COMPUTERS_WARM_DESKTOP: '1', GANTRY_COMPUTERS_WARM_SHELL: '1' });
      const close = async () => {
        driver.close();
        await subject.close();
      };
      return { driver, close };
    },
  },
};

async function claim({ quick, log }: FigureOptions): Promise<Measured> {
  const unit = 'ms from the create that claims a warm computer to the answer of its first call';
  const rounds = quick ? 5 : 30;
  const detail: Record<string, unknown> = {};
  const values: number[] = [];
  const skipped = ['kubernetes: it keeps no computer warm; hosted-computers.claim.kubernetes measures it'];
  for (const [name, { missing, open }] of Object.entries(claimed)) {
    const why = notMeasured(name, missing);
    if (why !== null) {
      skipped.push(`${name}: ${why}`);
      continue;
    }
    const { driver, close } = await open();
    try {
      for (const toolset of ['desktop', 'shell'] as const) {
        const { callable, acted } = await claims(driver, toolset, rounds);
        values.push(median(callable));
        detail[`${name}, ${toolset}`] = { ...spread(callable), 'first action': spread(acted) };
        log(`${name}, ${toolset}: ${rounded(median(callable))} ms, its first action ${rounded(median(acted))} ms`);
      }
    } finally {
      await close();
    }
  }
  if (values.length === 0) return { value: null, unit, n: 0, at, why: skipped.join('; ') };
  return {
    value: Math.max(...values),
    unit,
    n: values.length * rounds,
    at: 'one machine, each driver on its engine; the slowest driver and kind',
    detail: { ...detail, skipped },
  };
}
