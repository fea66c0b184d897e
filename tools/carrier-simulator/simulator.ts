/**
 * A simulated carrier: Telnyx's wire over HTTP on loopback, events signed with a key of its own, and simulated
 * handsets. Composes its parts. For the demo phone, and for tests that speak the wire.
 */
import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../src/kit/clock/timers.ts';
import { createAssignments } from './assignments.ts';
import { createBrands } from './brands.ts';
import { createCalls } from './calls.ts';
import { createCampaigns } from './campaigns.ts';
import { createControl, type FaultAsked, plantFault } from './control.ts';
import type { Route } from './exchange.ts';
import { takeFault } from './faults.ts';
import { createHandsets, type Handsets } from './handsets.ts';
import { createInbound } from './inbound.ts';
import { createJobs, type JobHandlers } from './jobs.ts';
import { createLegs, type HandsetAction } from './legs.ts';
import { createNumbers } from './numbers.ts';
import { createPorts } from './ports.ts';
import { createPostings } from './postings.ts';
import { createProfiles } from './profiles.ts';
import { apiBase, listen } from './server.ts';
import { createSigner } from './signature.ts';
import type { Speed, State } from './state.ts';
import { createStateFile, movedTo, stateInMemory } from './state-file.ts';
import { createTexts } from './texts.ts';
import { createTollFree } from './toll-free.ts';
import { createWorld, type World } from './world.ts';

export interface SimulatorOptions {
  /** Default: any free one of 127.0.0.1. */
  readonly port?: number;
  /** File of its state; absent: only in memory. */
  readonly file?: string;
  /** The bearer that every caller must send; default: a random one. */
  readonly apiKey?: string;
  /** Default: the stored one, `realistic` at first. */
  readonly speed?: Speed;
  /** Address for events whose request names none. */
  readonly webhookUrl?: string;
  /** Seed of its ids; default: random, and stored. */
  readonly seed?: string;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly fetch?: typeof fetch;
}

export interface Simulator {
  /** For the carrier's routes, with their base: `http://127.0.0.1:1234/v2`. */
  readonly url: string;
  /** For `/sim`. */
  readonly origin: string;
  readonly apiKey: string;
  /** Base64 of 32 bytes, as the carrier gives it out. */
  readonly publicKey: string;
  /** All its state, for inspection. */
  readonly state: State;
  readonly handsets: Handsets;
  /** Somebody texts a number; returns the text's id. */
  text(asked: { readonly from: string; readonly to: string; readonly text: string; readonly media?: boolean }): string;
  /** Somebody calls a number from a handset; returns the call's id. */
  call(from: string, to: string): string;
  /** A handset's action on a call. */
  handset(e164: string, callId: string, action: HandsetAction, digits?: string): void;
  /** The other carrier answers a port. */
  settlePort(orderId: string, answer: 'wrong_pin' | 'next'): void;
  fault(asked: FaultAsked): void;
  setSpeed(speed: Speed): void;
  step(): boolean;
  advance(ms: number): void;
  setWebhookUrl(url: string): void;
  /** For the headers of an event whose body a test made. */
  sign(seconds: number, body: string): string;
  /** Resolves when nothing is due or on its way. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const clock = options.clock ?? systemClock;
  const timers = options.timers ?? systemTimers;
  const file = options.file === undefined ? stateInMemory() : createStateFile(options.file);
  const kept = file.read();
  const state = options.webhookUrl === undefined ? kept : movedTo(kept, options.webhookUrl);
  if (state.seed === '') state.seed = options.seed ?? randomBytes(16).toString('hex');
  const apiKey = options.apiKey ?? `KEY${randomBytes(24).toString('hex')}`;
  const signer = createSigner(state.privateKey);
  let origin = '';
  let waiting: (() => void)[] = [];

  const save = () => file.write(state);
  const postings = createPostings({
    state,
    signer,
    clock,
    timers,
    fetch: options.fetch ?? fetch,
    save,
    settled: tell,
  });
  const world: World = createWorld({
    state,
    clock,
    timers,
    origin: () => origin,
    strikes: (name, about) => takeFault(state, name, about),
    post(url, type, payload, as = 'envelope') {
      const to = url ?? state.webhookUrl;
      if (to === null) return;
      postings.add({ id: world.id(), eventId: world.id(), type, url: to, payload, bare: as === 'bare' });
    },
  });

  const texts = createTexts(world);
  const inbound = createInbound(world, texts);
  const handsets = createHandsets(world);
  const assignments = createAssignments(world);
  const legs = createLegs(world);
  const ports = createPorts(world);
  const parts: readonly { routes?: readonly Route[]; jobs?: JobHandlers }[] = [
    createNumbers(world),
    createProfiles(world),
    texts,
    createBrands(world, texts),
    createCampaigns(world, assignments.provisioned),
    assignments,
    createTollFree(world),
    legs,
    createCalls(world, legs),
    ports,
  ];
  const jobs = createJobs({
    world,
    handlers: Object.assign({}, ...parts.map((part) => part.jobs ?? {})) as JobHandlers,
    changed: () => {
      save();
      postings.kick();
    },
    settled: tell,
  });
  const control = createControl({ world, jobs: () => jobs, postings, handsets, inbound, legs, ports });

  function changed(): void {
    save();
    postings.kick();
    jobs.kick();
  }

  function idle(): boolean {
    return !jobs.busy && !postings.busy;
  }

  function tell(): void {
    if (!idle()) return;
    const told = waiting;
    waiting = [];
    for (const go of told) go();
  }

  const server = await listen(
    {
      apiKey,
      world,
      routes: parts.flatMap((part) => part.routes ?? []),
      control: [...control, ...inbound.routes],
      timers,
      changed,
    },
    options.port ?? 0,
  );
  origin = server.origin;
  if (options.speed !== undefined && options.speed !== state.speed) jobs.setSpeed(options.speed);
  changed();

  /** Actions of a person or a test are stored like those of a request. */
  function done<T>(result: T): T {
    changed();
    return result;
  }

  return {
    url: `${origin}${apiBase}`,
    origin,
    apiKey,
    publicKey: signer.publicKey,
    state,
    handsets,
    text: (asked) => done(inbound.text(asked)),
    call: (from, to) => done(legs.call(from, to).id),
    handset: (e164, callId, action, digits) => done(legs.handset(e164, callId, action, digits)),
    settlePort: (orderId, answer) => done(ports.settle(orderId, answer)),
    fault: (asked) => {
      done(plantFault(world, asked));
    },
    setSpeed: (speed) => jobs.setSpeed(speed),
    step: () => jobs.step(),
    advance: (ms) => jobs.advance(ms),
    setWebhookUrl: (url) => {
      state.webhookUrl = url;
      changed();
    },
    sign: (seconds, body) => signer.sign(seconds, body),
    settled: () =>
      idle()
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push(resolve);
          }),
    async close() {
      jobs.stop();
      await postings.stop();
      await server.close();
      save();
    },
  };
}
