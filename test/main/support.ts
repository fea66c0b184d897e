/** The desktop program of a test: Electron's substitute, a Gantry that is none, time that is moved by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { DesktopGantry } from '../../src/host/desktop.ts';
import type { Log } from '../../src/kit/log/log.ts';
import { type RunningShell, runShell, type ShellDeps } from '../../src/main/shell.ts';
import { createFakeElectron, type FakeElectron, type FakeOptions } from '../support/fake-electron.ts';

export const origin = 'http://127.0.0.1:3010';
export const cookieLine = 'gantry_3010=secret; Path=/; HttpOnly; SameSite=Strict';

export interface Timeline {
  readonly after: (ms: number, task: () => void) => () => void;
  readonly now: () => number;
  /** Runs what is due by then, in order. */
  move(ms: number): Promise<void>;
}

export function createTimeline(start = Date.parse('2026-03-01T08:00:00Z')): Timeline {
  let now = start;
  let tasks: { at: number; task: () => void }[] = [];
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => now,
    after(ms, task) {
      const entry = { at: now + ms, task };
      tasks.push(entry);
      return () => {
        tasks = tasks.filter((one) => one !== entry);
      };
    },
    async move(ms) {
      const end = now + ms;
      await settle();
      for (;;) {
        const [next] = tasks.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        tasks = tasks.filter((one) => one !== next);
        now = next.at;
        next.task();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}

/** What Gantry answers main with, by path; a number is a status, a response is used once. */
export type Answers = Record<string, unknown>;

export interface Desktop {
  readonly fake: FakeElectron;
  readonly shell: RunningShell | null;
  readonly timeline: Timeline;
  /** Everything in the log, as `level message facts`. */
  readonly logged: string[];
  /** What was asked of Gantry over HTTP, as `path cookie`. */
  readonly asked: string[];
  /** What was sent to Gantry, as `method path cookie body`. */
  readonly sent: string[];
  /** What was done with the servers: `open`, `rest true`, `close`. */
  readonly servers: string[];
  readonly answers: Answers;
  readonly profile: string;
  readonly userHome: string;
}

export interface DesktopOptions extends FakeOptions {
  readonly fake?: FakeElectron;
  readonly profile?: string;
  readonly argv?: readonly string[];
  readonly env?: ShellDeps['env'];
  readonly platform?: string;
  readonly kind?: 'own' | 'attached';
  readonly setCookie?: string | null;
  readonly open?: (attempt: number) => Promise<Partial<DesktopGantry>> | Partial<DesktopGantry>;
  readonly loadUpdater?: ShellDeps['loadUpdater'];
  readonly answers?: Answers;
}

export const nothing: Answers = {
  '/api/factory/agents': { agents: [], engine: { running: true, error: null } },
  '/api/factory/campaigns': { campaigns: [] },
  '/api/factory/approvals': { approvals: [] },
  '/api/factory/leases': { leases: [] },
  '/api/v1/notifications': {
    notifications: [],
    total: 0,
    unread: 0,
    questions: { total: 0, unread: 0 },
    nextCursor: null,
  },
};

export async function startDesktop(options: DesktopOptions = {}): Promise<Desktop> {
  const fake = options.fake ?? createFakeElectron(options);
  const folder = mkdtempSync(join(tmpdir(), 'gantry-desktop-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const timeline = createTimeline();
  const logged: string[] = [];
  const asked: string[] = [];
  const sent: string[] = [];
  const servers: string[] = [];
  const answers: Answers = { ...nothing, ...options.answers };
  const profile = options.profile ?? join(folder, 'profile');
  const write =
    (level: string) =>
    (message: string, facts: object = {}) =>
      void logged.push(`${level} ${message} ${JSON.stringify(facts)}`);
  const log: Log = { info: write('info'), warn: write('warn'), error: write('error'), close() {} };
  let attempts = 0;
  const shell = runShell({
    parts: fake.parts,
    platform: options.platform ?? 'linux',
    argv: ['gantry', ...(options.argv ?? [])],
    env: options.env ?? {},
    execPath: '/opt/Gantry/gantry',
    userHome: folder,
    profile,
    logs: '/home/me/.gantry/logs',
    preload: '/app/preload.cjs',
    log,
    async openGantry() {
      servers.push('open');
      attempts += 1;
      return {
        kind: options.kind ?? 'own',
        origin,
        notices: [],
        openUrl: async () => `${origin}/open?t=code`,
        rest: (asleep) => void servers.push(`rest ${asleep}`),
        close: async () => void servers.push('close'),
        ...(await options.open?.(attempts)),
      };
    },
    loadUpdater: options.loadUpdater ?? (() => Promise.reject(new Error('no updater'))),
    async fetch(input, init) {
      const { pathname, search } = new URL(String(input));
      const cookie = new Headers(init?.headers).get('cookie') ?? init?.redirect;
      asked.push(`${pathname}${search} ${cookie}`);
      if (init?.body != null) sent.push(`${init.method} ${pathname} ${cookie} ${init.body}`);
      if (pathname === '/open') {
        const headers = new Headers();
        if (options.setCookie !== null) headers.append('set-cookie', options.setCookie ?? cookieLine);
        return new Response(null, { status: options.setCookie === null ? 410 : 303, headers });
      }
      const answer = answers[pathname];
      if (answer instanceof Response) return answer;
      if (answer === undefined || typeof answer === 'number')
        return new Response('{}', { status: Number(answer ?? 404) });
      return Response.json(answer);
    },
    now: timeline.now,
    after: timeline.after,
    secret: (value) => void logged.push(`secret ${value}`),
  });
  await shell?.started;
  await timeline.move(0);
  return { fake, shell, timeline, logged, asked, sent, servers, answers, profile, userHome: folder };
}
