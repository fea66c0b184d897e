/** Composes the hands of one computer: audit, lease, policy, questions, the executor program, the routes. */
import { mkdirSync } from 'node:fs';
import { type AnyToolset, toolsets } from '../../contracts/computer-use/members.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Fault, Place, ProgramEvent } from '../../programs/executor/protocol.ts';
import { deviceError } from './answers.ts';
import { createApprovals } from './approvals.ts';
import { createAudit } from './audit.ts';
import { createGate } from './create-gate.ts';
import { createExecutorProgram, ExecutorFault } from './executor-program.ts';
import type { Holder, ToolsetGate } from './gate.ts';
import type { Hands, HandsDeps } from './hands.ts';
import { createHosts } from './hosts.ts';
import { type ControlChange, createLease } from './lease.ts';
import { deviceRoutesOf } from './routes.ts';
import { createSessions } from './sessions.ts';
import { createUploads } from './uploads.ts';
import { createView } from './view.ts';

/** Variables of our environment that a browser and a display need beside the plain ones. */
const passedOn = [
  'DISPLAY',
  'XAUTHORITY',
  'XDG_RUNTIME_DIR',
  'XDG_SESSION_TYPE',
  'WAYLAND_DISPLAY',
  'TZ',
  'CHROMIUM',
  'LC_ALL',
  'LC_CTYPE',
] as const;

export function createHands(deps: HandsDeps): Hands {
  const { store, clock, timers, ids, log } = deps;
  const audit = createAudit({ store, clock, timers, ids });
  const approvals = createApprovals({ ...deps, store, clock });
  const controlListeners = new Set<Parameters<ToolsetGate['onControl']>[0]>();
  const downloadListeners = new Set<Parameters<ToolsetGate['onDownload']>[0]>();

  const has: readonly AnyToolset[] = 'shell' in deps.command ? ['shell'] : toolsets;
  const program =
    'shell' in deps.command
      ? deps.command.shell
      : createExecutorProgram({
          command: deps.command,
          env: Object.fromEntries(passedOn.flatMap((name) => (deps.env[name] ? [[name, deps.env[name]]] : []))),
          onEvent,
          onDeath,
          log,
        });
  const sessions = createSessions({ program, folder: deps.folder, proxy: deps.proxy ?? null });
  const hosts = createHosts(deps);
  const lease = createLease({
    clock,
    timers,
    changed: controlChanged,
  });
  const view = createView({
    control: lease.now,
    tell: (request) => program.tell(request),
  });
  sessions.onOpened((session) => view.opened({ kind: 'browser', session }));
  const gate = createGate({
    audit,
    approvals,
    lease,
    policy: deps.policy,
    hosts,
    uploads: createUploads(deps.uploads),
    sessions,
    program,
    toolsets: has,
    defaults: deps.defaults,
    approver: deps.approver,
    watched: view.isWatched,
    announce(place, next) {
      if (next !== null) view.used(place);
      view.tell(place, { event: 'next', data: next });
    },
    log,
  });

  function onDeath({ code, message }: Fault): void {
    sessions.lost(null);
    view.lost();
    view.tellAll({ event: 'gone', data: { code, message } });
  }

  function controlChanged(why: ControlChange, lost: Holder | null): void {
    if (why === 'taken' && lost !== null) gate.stopActsOf(lost);
    tellControl(why);
  }

  function tellControl(why: ControlChange): void {
    const control = lease.now();
    view.tellAll({ event: 'control', data: control });
    for (const listener of controlListeners) listener({ control, why });
  }

  function onEvent(event: ProgramEvent, bytes: Uint8Array): void {
    switch (event.event) {
      case 'host': {
        const judged = hosts.judge(event, (host) => sessions.wasLetInto(event.session, host));
        program.tell({ do: 'host', question: event.question, ...judged });
        return;
      }
      case 'frame': {
        const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
        const { place, width, height } = event;
        view.tell(place, { event: 'frame', data: { data, width, height, at: iso(clock.now()) } });
        return;
      }
      case 'pointer':
        view.tell(event.place, { event: 'pointer', data: { x: event.x, y: event.y } });
        return;
      case 'elsewhere':
        gate.stopActsAt(event.place);
        tellControl('elsewhere');
        return;
      case 'page':
        sessions.sawPage(event.session, { url: event.url, title: event.title });
        return;
      case 'download': {
        const { session, path, bytes, state } = event;
        if (state !== 'completed' || path === null) return;
        for (const listener of downloadListeners) listener({ session, path, size: bytes ?? 0 });
        return;
      }
      case 'gone': {
        const { place, fault } = event;
        if (place.kind === 'browser') sessions.lost(place.session);
        view.tell(place, { event: 'gone', data: { code: fault.code, message: fault.message } });
        return;
      }
    }
  }

  /** A fault of the executor as callers know it. */
  async function answered<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw error instanceof ExecutorFault ? deviceError(error.fault) : error;
    }
  }

  const whole: ToolsetGate = {
    call: gate.call,
    onApproval: approvals.onAnswer,
    approvalState: approvals.state,
    withdrawApproval: approvals.expire,
    control: { now: lease.now, take: lease.take, renew: lease.renew, release: lease.release },
    onControl: (listener) => listen(controlListeners, listener),
    sessions: {
      open: (session, options) => answered(sessions.open(session, options, 'run')),
      close: (session, wipe) => answered(sessions.close(session, wipe)),
      page: (session) => sessions.page(session),
    },
    async record(place: Place, file: string) {
      const begun = await fileOr(program.request({ do: 'record', place, file, stop: false }).then(() => file));
      return {
        stop: async () =>
          begun === null
            ? null
            : fileOr(program.request({ do: 'record', place, file, stop: true }).then((one) => one.file)),
      };
    },
    async saveTrace(session, file) {
      if (sessions.holdsSecret(session)) return { file: null, secret: true };
      return {
        file: await fileOr(program.request({ do: 'trace', session, file }).then((one) => one.file)),
        secret: false,
      };
    },
    onDownload: (listener) => listen(downloadListeners, listener),
    async stop(place) {
      program.tell({ do: 'stop', place });
    },
  };

  return {
    gate: whole,
    routes: deviceRoutesOf({
      gate: whole,
      view,
      toolsets: has,
      oneBrowser: deps.defaults === 'hosted',
      livingRun: deps.livingRun ?? (async () => false),
    }),
    metrics: [
      {
        name: 'gantry_executor_running',
        help: '1 while the program that acts in browsers and on the desktop runs.',
        kind: 'gauge',
        read: () => (program.running ? 1 : 0),
      },
      {
        name: 'gantry_executor_requests_in_flight',
        help: 'Actions and looks that the executor has not answered yet.',
        kind: 'gauge',
        read: () => program.underWay,
      },
    ],
    async start() {
      mkdirSync(deps.folder, { recursive: true, mode: 0o700 });
      await audit.closeLeftOpen();
      await approvals.expireLeft();
    },
    async close() {
      lease.close();
      await program.close();
      await gate.settled();
    },
  };
}

/** Null where nothing could be made. */
async function fileOr(file: Promise<string | null>): Promise<string | null> {
  return file.catch((error: unknown) => {
    if (error instanceof ExecutorFault) return null;
    throw error;
  });
}

function listen<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
