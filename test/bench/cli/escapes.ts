/**
 * Whether anything that a server answers can act on the terminal of who reads it. Two servers are read.
 * The first is a real engine, to which everything that a bot may write was written with a bot's token (`escapes/by-bots.ts`): each text
 * field of each route that admits a bot, taken from the route tables, so that a new one is not forgotten. All verbs read it, with each of
 * their options and `--dry-run`, plain and with `--json`, as the person and in a bot's environment (with `--quick` as the person only).
 * The second stands in for engine and cloud, for what no bot can write (people, other computers, carriers, providers, files, ids): for
 * each declared route it answers what the route's schema describes, with hostile words in every text, also where no honest server would
 * have them. Every verb that asks a server is run against it: as it is, with each of its options, with `--dry-run` and with `--json`, and
 * once where it is refused with such a text, with `GANTRY_DEBUG`.
 * Counted: runs whose output has a control character or a mark of direction, and runs in which a text began a line of its own, except where
 * whole texts are what was asked for; and fields that nothing was written to or that no command showed. Left out are the verbs that start,
 * stop or install programs or need a terminal (`escapes/commands.ts`).
 */
import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Route } from '../../../src/contracts/common/route.ts';
import { serverTables } from '../../../src/contracts/servers.ts';
import { placesIn } from '../../../src/host/places.ts';
import { createTokenFile } from '../../../src/kit/secrets/token-file.ts';
import { takeInstanceLock } from '../../../src/kit/store/instance-lock.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { writtenByBots } from './escapes/by-bots.ts';
import { formsOf, printed, problemOf, verbs } from './escapes/commands.ts';
import { at, forged, hostileText, type JsonSchema, sampleOf } from './escapes/hostile.ts';

export const figures: readonly Figure[] = [{ name: 'cli.escapes', run: escapes }];

const hostile = hostileText();
const oneLine = hostile.replaceAll('\n', '');
/** What only Gantry makes, and never with a line feed in it; what a person or a bot may write can have one anywhere. */
const made =
  /^id$|Ids?$|^(?:agent|ref|nextCursor|next|hash|actor|type|file|headsFile|address|to|from|holder|op|rule|path|branch|commit|lines|cloudUrl|git|head|ledger|url|secret|usedBy|written|receipts|approvals|agents|stopped)$/;
const textOf = (path: string) => (made.test(path.split('.').at(-1) ?? '') ? oneLine : hostile);

const schemas = new Map<Route, readonly [number, JsonSchema][]>();
function schemasOf(route: Route): readonly [number, JsonSchema][] {
  const known = schemas.get(route);
  if (known !== undefined) return known;
  const described = Object.entries(route.answers).map(([status, schema]): [number, JsonSchema] => {
    try {
      return [Number(status), z.toJSONSchema(schema, { unrepresentable: 'any', io: 'output' }) as JsonSchema];
    } catch {
      return [Number(status), {}];
    }
  });
  schemas.set(route, described);
  return described;
}

const routes = serverTables.flatMap((table) => table.routes);
const patterns = routes.map((route) => ({
  route,
  path: new RegExp(`^${route.path.replace(/:[A-Za-z]+/g, '[^/]+').replace(/\*.*$/, '.*')}$`),
}));

interface World {
  readonly env: Record<string, string>;
  readonly url: string;
  turn: number;
  refuses: boolean;
  readonly asked: Set<string>;
  close(): void;
}

async function startWorld(): Promise<World> {
  const home = mkdtempSync(join(tmpdir(), 'gantry-escapes-'));
  const places = placesIn(home);
  mkdirSync(places.run, { recursive: true, mode: 0o700 });
  const token = createTokenFile(places.token);
  createTokenFile(places.internalToken);
  const world: World = {
    env: { GANTRY_HOME: home, HOME: home, PATH: process.env.PATH ?? '', GANTRY_KEY_FILE: places.internalToken },
    url: '',
    turn: 0,
    refuses: false,
    asked: new Set(),
    close: () => {},
  };
  const server = createServer((request, response) => {
    request.resume();
    const url = new URL(request.url ?? '/', 'http://localhost');
    const json = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const challenge = url.searchParams.get('c');
    if (url.pathname.endsWith('/health') && challenge !== null) {
      const proof = createHmac('sha256', token).update(challenge).digest('hex');
      json(200, { ok: true, service: 'gantry-engine', panes: true, proof });
      return;
    }
    if (world.refuses) {
      json(409, { error: { code: 'refused', fact: hostile, action: hostile } });
      return;
    }
    const found = patterns.find(({ route, path }) => route.method === request.method && path.test(url.pathname));
    if (found === undefined) {
      json(404, { error: { code: 'not_found', fact: hostile, action: hostile } });
      return;
    }
    const { route } = found;
    world.asked.add(route.op);
    if (route.kind === 'sse') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const name of Object.keys(route.events ?? { message: 1 })) {
        const data = { type: hostile, at, data: { title: hostile, id: hostile, text: hostile, reason: hostile } };
        response.write(`id: 1\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
      }
      return;
    }
    const answers = schemasOf(route);
    const [status, schema] = answers[world.turn % answers.length] ?? [200, {}];
    if (status === 204) response.writeHead(204).end();
    else json(status, sampleOf(schema, { turn: world.turn, text: textOf }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const release = takeInstanceLock(places.lock);
  writeFileSync(places.url, url, { mode: 0o600 });
  writeFileSync(places.holder, JSON.stringify({ pid: process.pid, address: url }), { mode: 0o600 });
  writeFileSync(join(home, 'file.json'), '{}');
  return Object.assign(world, {
    url,
    close: () => {
      server.closeAllConnections();
      server.close();
      release?.();
      rmSync(home, { recursive: true, force: true });
    },
  });
}

async function againstStandIn(quick: boolean) {
  const world = await startWorld();
  const problems: string[] = [];
  let runs = 0;
  let quoted = 0;
  const file = join(world.env.HOME ?? '', 'file.json');
  const word = (name: string) => (name.includes('file') ? file : hostile);
  try {
    for (const [words, verb] of verbs) {
      const always = words.startsWith('admin ') ? ['--url', world.url] : [];
      for (const [form, argv] of formsOf(words, verb, word, always).entries()) {
        const turns = quick || form > 1 ? [0, 1] : [0, 1, 2, 3];
        const ways = [
          ...turns.map((turn) => ({ turn, refuses: false, json: false })),
          { turn: 0, refuses: false, json: true },
          { turn: 0, refuses: true, json: false },
        ];
        for (const { turn, refuses, json } of ways) {
          Object.assign(world, { turn, refuses });
          const env = refuses ? { ...world.env, GANTRY_DEBUG: '1' } : world.env;
          const out = await printed(env, json ? [...argv, '--json'] : argv, Date.parse(at));
          runs += 1;
          if (out.includes(forged)) quoted += 1;
          const problem = problemOf(words, argv, out);
          if (problem !== null) problems.push(problem);
        }
      }
    }
  } finally {
    world.close();
  }
  if (quoted < runs / 4)
    problems.push(`only ${quoted} of ${runs} outputs quoted a hostile text: the commands were not reached`);
  return { problems, runs, quoted, routes: world.asked.size };
}

async function escapes({ quick, log }: FigureOptions): Promise<Measured> {
  const bots = await writtenByBots(quick);
  log(`${bots.fields} fields were written with a bot's token; ${bots.quoted} of ${bots.runs} outputs quoted one`);
  const standIn = await againstStandIn(quick);
  log(`${standIn.routes} routes were asked, ${standIn.quoted} of ${standIn.runs} outputs quoted a hostile text`);
  const problems = [...bots.problems, ...standIn.problems];
  return {
    value: problems.length,
    unit: 'outputs that act on a terminal, and fields that were not tried',
    n: bots.runs + standIn.runs,
    at: `${verbs.length} verbs with each of their options, in this process: on a real engine whose ${bots.fields} fields for bots were written with their tokens, and against a server whose every text is hostile`,
    problems,
    detail: {
      byBots: { fields: bots.fields, runs: bots.runs, quoted: bots.quoted },
      standIn: { routes: standIn.routes, runs: standIn.runs, quoted: standIn.quoted },
    },
  };
}
