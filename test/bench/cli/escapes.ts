/**
 * Whether anything that a server answers can act on the terminal of who reads it. A server stands in for engine and cloud: for each
 * declared route it answers what the route's schema describes, with escape sequences, marks of direction and a line feed in every
 * text (also in ids, which no honest server would do: so every field that a bot, a client or a far computer can write is covered,
 * whichever way it was written). Then every verb of the catalogue that asks a server is run: as it is, with each of its options, with
 * `--dry-run` and with `--json`, and once against a server that refuses with such a text. Counted: runs whose output has a control
 * character or a mark of direction, and runs in which a text began a line of its own, except where whole texts are what was asked
 * for. Left out are the verbs that start, stop or install programs or need a terminal (`notAsked`).
 */
import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { commands, parts } from '../../../src/cli/catalogue.ts';
import type { Verb } from '../../../src/cli/command.ts';
import { runCli } from '../../../src/cli/program.ts';
import type { Route } from '../../../src/contracts/common/route.ts';
import { serverTables } from '../../../src/contracts/servers.ts';
import { placesIn } from '../../../src/host/places.ts';
import { createTokenFile } from '../../../src/kit/secrets/token-file.ts';
import { takeInstanceLock } from '../../../src/kit/store/instance-lock.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';

export const figures: readonly Figure[] = [{ name: 'cli.escapes', run: escapes }];

const forged = 'FORGED';
const hostile = `a\u001b]52;c;ZXZpbA==\u0007\u009b31m\u202e\u2066\u2028\r\n${forged} row\tb`;
const oneLine = hostile.replaceAll('\n', '');
/** What only Gantry makes, and never with a line feed in it; what a person or a bot may write can have one anywhere. */
const made =
  /^id$|Ids?$|^(?:agent|ref|nextCursor|next|hash|actor|type|file|headsFile|address|to|from|holder|op|rule|path|branch|commit|lines|cloudUrl|git|head|ledger|url|secret|usedBy|written|receipts|approvals|agents|stopped)$/;
const acting = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const at = '2026-01-02T03:00:00.000Z';

/** They run, stop or install programs, or draw on a terminal: nothing of them is the answer of a server. */
const notAsked = new Set(
  'start stop open desktop cloud runtime worker install backup restore computer-host completion doctor hook'.split(' '),
);
const notAskedOf = new Set(['agents attach', 'desktop install', 'tools connect', 'agents doctor', 'tools stdio']);
/** They say again what was typed behind them, and name nothing else. */
const echoes = new Set(['agents limit', 'vault rm', 'workspace triggers']);
/** A whole text of many lines is what was asked for. */
const wholeTexts = new Set(['agents capture', 'agents transcript', 'agents screen', 'agents diff', 'tools call']);

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly minimum?: number;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** A value of the schema; `turn` picks among alternatives. */
function sampleOf(
  schema: JsonSchema,
  turn: number,
  defs: Readonly<Record<string, JsonSchema>>,
  depth = 0,
  field = '',
): unknown {
  const inner = (one: JsonSchema, name = field) => sampleOf(one, turn, defs, depth + 1, name);
  if (schema.$ref !== undefined) return depth > 12 ? null : inner(defs[schema.$ref.replace('#/$defs/', '')] ?? {});
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[turn % schema.enum.length];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return inner(choices[turn % choices.length] ?? {});
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((one) => inner(one)));
  switch (typeof schema.type === 'string' ? schema.type : schema.type?.[turn % schema.type.length]) {
    case 'string':
      return schema.format === 'date-time' ? at : made.test(field) ? oneLine : hostile;
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return turn % 2 === 1;
    case 'null':
      return null;
    case 'array':
      return schema.prefixItems?.map((one) => inner(one)) ?? (depth > 12 ? [] : [inner(schema.items ?? {})]);
    case 'object': {
      const own = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, inner(one, name)]);
      const { additionalProperties: more } = schema;
      const free = typeof more === 'object' && depth < 12 ? [[hostile, inner(more)]] : [];
      return Object.fromEntries([...own, ...free]);
    }
    default:
      return made.test(field) ? oneLine : hostile;
  }
}

const schemas = new Map<Route, readonly [number, JsonSchema][]>();
function schemasOf(route: Route): readonly [number, JsonSchema][] {
  const known = schemas.get(route);
  if (known !== undefined) return known;
  const made = Object.entries(route.answers).map(([status, schema]): [number, JsonSchema] => {
    try {
      return [Number(status), z.toJSONSchema(schema, { unrepresentable: 'any', io: 'output' }) as JsonSchema];
    } catch {
      return [Number(status), {}];
    }
  });
  schemas.set(route, made);
  return made;
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
    else json(status, sampleOf(schema, world.turn, schema.$defs ?? {}));
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

/** `--lines <n>` with a number, anything else with a hostile word; what names a file with one that is there. */
function optionOf(flags: string, home: string): string[] {
  const [, name = '', value] = /(--[a-z-]+)(?: <([^>]+)>)?/.exec(flags) ?? [];
  if (value === undefined) return [name];
  if (/^n$|seconds|lines|cents|percent|days|minutes/.test(value)) return [name, '1'];
  if (value.includes('file')) return [name, join(home, 'file.json')];
  return [name, value.includes('=') ? `a=${hostile}` : hostile];
}

function lines(words: string, verb: Verb, world: World): string[][] {
  const given = (verb.args ?? '').split(' ').filter((one) => one !== '');
  const bare = (one: string) => one.replace(/[<>[\].]/g, '');
  const argument = (one: string) => (/file/.test(one) ? join(world.env.HOME ?? '', 'file.json') : hostile);
  const needed = given.filter((one) => one.startsWith('<')).map((one) => argument(bare(one)));
  const all = given.map((one) => argument(bare(one)));
  const admin = words.startsWith('admin ') ? ['--url', world.url] : [];
  const first = [...words.split(' ')];
  const options = (verb.options ?? []).filter(({ flags }) => !flags.includes('--url') && !flags.includes('--follow'));
  const forms = [
    [...first, ...needed, ...admin],
    ...(all.length > needed.length ? [[...first, ...all, ...admin]] : []),
    ...options.map(({ flags }) => [...first, ...needed, ...admin, ...optionOf(flags, world.env.HOME ?? '')]),
    ...(verb.mutation === true ? [[...first, ...all, ...admin, '--dry-run']] : []),
  ];
  // What follows a stream looks for a second only.
  const short = (verb.options ?? []).some(({ flags }) => flags.startsWith('--for')) ? ['--for', '1'] : [];
  return forms.map((form) => [...form, ...(form.includes('--for') ? [] : short)]);
}

/** Past this a command follows something: what it printed until then counts. Milliseconds. */
const longest = 3000;

async function run(world: World, argv: readonly string[]): Promise<string> {
  const stdin = new PassThrough();
  stdin.end(hostile);
  let out = '';
  const sink = () => {
    const stream = new PassThrough();
    stream.on('data', (data: Buffer) => {
      out += data.toString();
    });
    return stream;
  };
  const terminal = { stdin, stdout: sink(), stderr: sink() } as unknown as Parameters<typeof runCli>[0]['terminal'];
  const cwd = world.env.HOME ?? '';
  const ran = runCli({ argv, env: world.env, cwd, terminal, now: () => Date.parse(at), version: '1.2.3' });
  await Promise.race([ran, new Promise((resolve) => setTimeout(resolve, longest).unref())]);
  await new Promise((resolve) => setImmediate(resolve));
  return out;
}

async function escapes({ quick, log }: FigureOptions): Promise<Measured> {
  const world = await startWorld();
  const problems: string[] = [];
  let runs = 0;
  let told = 0;
  const verbs = [
    ...commands.map((verb) => [verb.name, verb] as const),
    ...parts.flatMap((part) => part.verbs.map((verb) => [`${part.name} ${verb.name}`, verb] as const)),
  ].filter(([words]) => !notAsked.has(words) && !notAskedOf.has(words));
  try {
    for (const [words, verb] of verbs) {
      for (const [form, argv] of lines(words, verb, world).entries()) {
        const turns = quick || form > 1 ? [0, 1] : [0, 1, 2, 3];
        const ways = [
          ...turns.map((turn) => ({ turn, refuses: false, json: false })),
          { turn: 0, refuses: false, json: true },
          { turn: 0, refuses: true, json: false },
        ];
        for (const { turn, refuses, json } of ways) {
          Object.assign(world, { turn, refuses });
          const out = await run(world, json ? [...argv, '--json'] : argv);
          runs += 1;
          if (out.includes(forged)) told += 1;
          const shown = argv.map((one) => (one === hostile ? '…' : one)).join(' ');
          const raw = acting.exec(out.replaceAll('\t', ' '));
          if (raw !== null) {
            problems.push(`${shown}: U+${raw[0].codePointAt(0)?.toString(16)} in ${JSON.stringify(out.slice(0, 200))}`);
          } else if (
            !wholeTexts.has(words) &&
            !echoes.has(words) &&
            out.split('\n').some((line) => line.startsWith(forged))
          ) {
            problems.push(`${shown}: a text begins a line of its own in ${JSON.stringify(out.slice(0, 300))}`);
          }
        }
      }
    }
  } finally {
    world.close();
  }
  log(`${world.asked.size} routes were asked, ${told} of ${runs} outputs quoted a hostile text`);
  if (told < runs / 4)
    problems.push(`only ${told} of ${runs} outputs quoted a hostile text: the commands were not reached`);
  return {
    value: problems.length,
    unit: 'outputs that act on a terminal',
    n: runs,
    at: `${verbs.length} verbs with each of their options, in this process, against a server whose every text is hostile`,
    problems,
    detail: { routes: world.asked.size, quoted: told },
  };
}
