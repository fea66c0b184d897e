/** The command line in this process against a real engine door (socket and port) whose routes answer what a test gives them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { runCli } from '../../src/cli/program.ts';
import { heldApprovalRoutes } from '../../src/contracts/approvals/routes.ts';
import type { Route } from '../../src/contracts/common/route.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import { factoryRoutes } from '../../src/contracts/factory/routes.ts';
import { serverRoutes } from '../../src/contracts/tool-server/servers.ts';
import { toolRoutes } from '../../src/contracts/tool-server/tools.ts';
import { createClosing } from '../../src/host/closing.ts';
import { openEngineListeners } from '../../src/host/engine-server.ts';
import { type Places, placesIn } from '../../src/host/places.ts';
import {
  createLinkAuthenticator,
  createOwnerAuthenticator,
  localUserId,
  proofOf,
} from '../../src/kit/http/principals.ts';
import type { Authenticator, BoundRoute, Context, Principal, SseSink } from '../../src/kit/http/types.ts';
import { createTokenFile, newToken } from '../../src/kit/secrets/token-file.ts';
import { onEnd } from '../support/at-end.ts';
import { ownersOf } from '../support/owner-lookups.ts';

export const now = Date.parse('2026-01-02T03:04:05.000Z');
export const at = '2026-01-02T03:00:00.000Z';

export { onEnd } from '../support/at-end.ts';

/** A data folder of its own, closed to others as the real one. */
export function scratchHome(): Places {
  const home = mkdtempSync(join(tmpdir(), 'gantry-cli-'));
  onEnd(() => rmSync(home, { recursive: true, force: true }));
  const places = placesIn(home);
  mkdirSync(places.run, { recursive: true, mode: 0o700 });
  return places;
}

export interface Seen {
  readonly op: string;
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly body: unknown;
  readonly token: string | undefined;
}

type Answers = Readonly<Record<string, (seen: Seen, sink?: SseSink) => unknown>>;

export interface TestEngine {
  readonly places: Places;
  readonly token: string;
  readonly seen: Seen[];
  readonly url: string;
  /** Environment that leads the command line here. */
  readonly env: Record<string, string>;
}

/** `answers` by operation name. Agents are listed from `agents`. */
export async function startEngine(
  given: {
    answers?: Answers;
    agents?: readonly Agent[];
    proof?: (challenge: string) => string;
    botToken?: string;
  } = {},
): Promise<TestEngine> {
  const places = scratchHome();
  const token = createTokenFile(places.token);
  const seen: Seen[] = [];
  const agents = given.agents ?? [];
  const answers: Answers = {
    listAgents: () => ({ agents, engine: { running: true, error: null } }),
    listGuests: () => ({ guests: [] }),
    getAgent: ({ params }) => agents.find((agent) => agent.id === params.id),
    ...given.answers,
  };
  const prove = given.proof ?? ((challenge: string) => proofOf(token, challenge));
  const bindOne = (route: Route): BoundRoute => ({
    route,
    handler: (context: Context<Route>, sink?: SseSink) => {
      const challenge = (context.query as { c?: string }).c;
      const call: Seen = {
        op: route.op,
        params: context.params,
        query: context.query,
        body: context.body,
        token: context.request.headers.authorization,
      };
      seen.push(call);
      if (route.op === 'factoryHealth') {
        const proof = challenge === undefined ? undefined : prove(challenge);
        return { body: { ok: true, service: 'gantry-engine', panes: true, proof } };
      }
      const answer = answers[route.op];
      if (answer === undefined) throw new Error(`The test gives no answer for ${route.op}.`);
      if (route.kind === 'raw') return answerRaw(context, call, answer);
      return route.kind === 'sse'
        ? answer(call, sink)
        : Promise.resolve(answer(call)).then((body) => ({ status: statusOf(route, body), body }));
    },
  });
  const closing = createClosing({ limitMs: 2_000, onFault: () => {} });
  onEnd(() => closing.close());
  const listeners = await openEngineListeners(places, 0, closing);
  listeners.serve({
    routes: [...factoryRoutes, ...heldApprovalRoutes, ...toolRoutes, ...serverRoutes].map(bindOne),
    owners: ownersOf(factoryRoutes, true),
    authenticators: [createOwnerAuthenticator(token), botAuthenticator(given.botToken)],
    linkAuthenticator: createLinkAuthenticator(newToken()),
    ids: { next: (prefix) => `${prefix}_1` },
    log: { warn: () => {}, error: () => {} },
    answers: 'throw',
    // Nothing here is asked twice.
    idempotency: { once: (_request, work) => work(null) },
  });
  return { places, token, seen, url: listeners.url, env: { GANTRY_HOME: places.home, PATH: process.env.PATH ?? '' } };
}

/** A raw route is given the bytes of its body, and answers JSON. */
async function answerRaw(context: Context<Route>, call: Seen, answer: (seen: Seen) => unknown): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of context.request) chunks.push(chunk as Buffer);
  Object.assign(call, { body: Buffer.concat(chunks) });
  context.response.writeHead(200, { 'content-type': 'application/json' });
  context.response.end(JSON.stringify(answer(call)));
}

/** The declared status whose schema takes this body; none: the dispatcher finds the fault. */
function statusOf(route: Route, body: unknown): number | undefined {
  const found = Object.entries(route.answers).find(([, schema]) => schema.safeParse(body).success);
  return found === undefined ? undefined : Number(found[0]);
}

function botAuthenticator(token: string | undefined): Authenticator {
  const bot: Principal = {
    kind: 'bot',
    userId: localUserId,
    scopes: new Set(['agents:read', 'bots:act']),
    via: 'bot-token',
    agentId: 'agent_web',
  };
  return {
    name: 'bot',
    authenticate: (request) =>
      token !== undefined && request.headers.authorization === `Bearer ${token}` ? bot : null,
  };
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The one document; fails when stdout is anything else. */
  json(): Record<string, unknown>;
}

export async function run(
  env: Readonly<Record<string, string>>,
  argv: readonly string[],
  stdin: string | null = null,
): Promise<Ran> {
  const input = new PassThrough();
  if (stdin !== null) input.end(stdin);
  else Object.assign(input, { isTTY: true });
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let out = '';
  let err = '';
  stdout.on('data', (data: Buffer) => {
    out += data.toString();
  });
  stderr.on('data', (data: Buffer) => {
    err += data.toString();
  });
  const terminal = { stdin: input, stdout, stderr } as unknown as Parameters<typeof runCli>[0]['terminal'];
  const code = await runCli({ argv, env, cwd: process.cwd(), terminal, now: () => now, version: '1.2.3' });
  await new Promise((resolve) => setImmediate(resolve));
  return {
    code,
    out,
    err,
    json() {
      const lines = out.split('\n');
      if (lines.length !== 2 || lines[1] !== '') throw new Error(`stdout is not one line: ${JSON.stringify(out)}`);
      return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    },
  };
}

export function agent(slug: string, change: Partial<Agent> = {}): Agent {
  return {
    id: `agent_${slug}`,
    slug,
    name: slug,
    address: `${slug}@demo`,
    team: 'demo',
    role: null,
    binding: { type: 'terminal', harness: 'shell' },
    state: 'idle',
    stateReason: null,
    stale: false,
    currentNode: null,
    proof: { proven: 0, total: 0 },
    pane: { id: `pane_${slug}`, attachable: true },
    machine: 'computer_1',
    runner: 'local',
    queueDepth: 0,
    since: at,
    ...change,
  };
}

/** As a person at a terminal, who types each line once it was asked for; null: they end the input instead. */
export async function runAtTerminal(
  engine: Pick<TestEngine, 'env'>,
  argv: readonly string[],
  { asks, lines }: { readonly asks: RegExp; readonly lines: readonly (string | null)[] },
) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = new PassThrough();
  const left = [...lines];
  let out = '';
  let err = '';
  let asked = 0;
  stderr.on('data', (data: Buffer) => {
    err += data.toString();
  });
  stdout.on('data', (data: Buffer) => {
    out += data.toString();
    const questions = out.match(asks)?.length ?? 0;
    for (; asked < questions; asked += 1) {
      const line = left.length === 0 ? '' : left.shift();
      if (line === null) stdin.end();
      else stdin.write(`${line}\n`);
    }
  });
  const terminal = { stdin, stdout, stderr } as unknown as Parameters<typeof runCli>[0]['terminal'];
  const code = await runCli({
    argv: [...argv],
    env: engine.env,
    cwd: process.cwd(),
    terminal,
    now: () => now,
    version: '1.2.3',
  });
  return { code, out, err };
}
