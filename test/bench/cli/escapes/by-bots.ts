/**
 * Everything that a bot's token may write, written to a real engine: each field of each route that admits a bot, as the route tables have
 * them, and each tool. Then all of it is read with the command line, as the person and in the environment of a bot. A field that nothing
 * was written to, or that no command showed, is a problem unless it is named here.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { fillPath } from '../../../../src/client/call.ts';
import type { Route } from '../../../../src/contracts/common/route.ts';
import { serverTables } from '../../../../src/contracts/servers.ts';
import { mcpHeaders, mcpMeta, mcpServer, modernVersion } from '../../../../src/contracts/tool-server/mcp.ts';
import { type Caller, createCaller } from '../../../support/bench/http.ts';
import { type Product, type ScratchHome, scratchHome, startBuilt, teamUp } from '../../../support/bench/product.ts';
import { installStandInClaude } from '../../../support/stand-in-claude/install.ts';
import { formsOf, printed, problemOf, verbs } from './commands.ts';
import { forged, hostileText, type JsonSchema, sampleOf } from './hostile.ts';

/** They name what is there already: another text is refused, and kept nowhere. */
const names = new Set([
  ...['to', 'threadId', 'nodeId', 'dagId', 'as'].map((field) => `sendMessage.${field}`),
  ...['template', 'campaignId', 'projectId', 'team', 'preset'].map((field) => `createSchedule.run.${field}`),
  ...['createSchedule.cron', 'createSchedule.timezone', 'createThread.bot', 'steerAgent.agent'],
  ...['sendMail.to', 'sendMail.inReplyTo', 'registerPeer.name', 'beatPeer.ack', 'takeReport.id'],
]);
/** Kept as a hash, or to know a request that comes again: no command has them. */
const unseen = new Set(['sendMessage.idempotencyKey', 'closeTicket.note']);

const routes = new Map(
  serverTables
    .flatMap((table): readonly Route[] => table.routes)
    .filter((route) => route.auth.includes('bot'))
    .map((route) => [route.op, route]),
);

type Fields = Record<string, unknown>;

/** A body of the route, and which of its fields hold text: `sendMail.subject`. One that no schema describes is a field itself. */
function sampleFor({ op, method, kind, body }: Route): { body: Fields; fields: readonly string[] } {
  if (body === undefined) return { body: {}, fields: kind === 'raw' && method !== 'GET' ? [op] : [] };
  const schema = z.toJSONSchema(body, { unrepresentable: 'any', io: 'input' }) as JsonSchema;
  const fields = new Set<string>();
  const text = (path: string) => {
    const field = path === '' ? op : `${op}.${path}`;
    fields.add(field);
    return marked(field);
  };
  return { body: sampleOf(schema, { turn: 0, text }) as Fields, fields: [...fields] };
}

const marked = (field: string) => hostileText(`[${field}] `);
const marksIn = (text: string) => [...text.matchAll(/\[([A-Za-z]+(?:\.[\w.]+)?)\]/g)].map(([, field = '']) => field);
/** Of a field, or of something in it. */
const has = (marks: ReadonlySet<string>, field: string) =>
  [...marks].some((one) => one === field || one.startsWith(`${field}.`));

const team = `name: bench
version: 1
bots:
  - { bot: one, harness: shell }
  - { bot: two, harness: shell }
  - { bot: asker, harness: claude }
edges:
  - { kind: checks, from: two, to: one }
  - { kind: directs, from: one, to: two }
`;
const template = {
  name: 'Work',
  params: [{ name: 'what', default: 'this' }],
  steps: [
    { id: 'ends', title: 'End it', executor: 'bot:one@bench', on_fail: 'ask' },
    { id: 'fails', title: 'Give it up', executor: 'bot:two@bench', on_fail: 'ask' },
  ],
};
const policy = 'rules:\n  - when: { tool: workflows.schedule }\n    then: allow\n';

const slugs = ['one', 'two', 'asker'] as const;
interface Bot {
  readonly address: string;
  readonly tokenFile: string;
  readonly token: string;
  readonly caller: Caller;
}
type Bots = Readonly<Record<(typeof slugs)[number], Bot>>;

/** Words by the names that the command line has for them, several of a kind: `<thread>`. */
type Words = Readonly<Record<string, readonly string[]>>;

/** Asks again until the answer fits; half a minute at most. */
async function until<T>(ask: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const value = await ask();
    if (fits(value)) return value;
    if (tries === 600) throw new Error(`It never came; last was ${JSON.stringify(value).slice(0, 2000)}`);
    await delay(50);
  }
}

const base = '/api/factory';
const work = { template: 'work', team: 'bench', projectId: 'bench' };

/** Writes as bots, and knows which fields it has written. */
function createPen(product: Product, bots: Bots) {
  const written = new Set<string>();
  /** Requests that wait for a person: open as long as anybody reads. */
  const waiting = slugs.map((slug) => createCaller(product.engineUrl, bots[slug].token));
  return {
    ...product,
    ...bots,
    written,
    /** What the body is was made elsewhere. */
    note(body: unknown) {
      for (const field of marksIn(JSON.stringify(body))) written.add(field);
    },
    /** A body of the route's schema; `change` says what of it must fit what is there. */
    write<T = { id: string }>(
      bot: Bot,
      op: string,
      change: (made: Fields) => Fields = (made) => made,
      params: Record<string, string> = {},
    ): Promise<T> {
      const route = routes.get(op);
      if (route === undefined) throw new Error(`No route for bots is called ${op}.`);
      const body = change(sampleFor(route).body);
      this.note(body);
      return bot.caller.call<T>(route.method, fillPath(route.path, params), body);
    },
    /** What waits for a person, or is refused: the words may be kept all the same. */
    ask(slug: keyof Bots, path: string, body: unknown, headers?: Record<string, string>) {
      this.note(body);
      waiting[slugs.indexOf(slug)]?.call('POST', path, body, headers).catch(() => {});
    },
    close() {
      for (const caller of [...waiting, ...slugs.map((slug) => bots[slug].caller)]) caller.close();
    },
  };
}
type Pen = ReturnType<typeof createPen>;

const steered = (action: string, agent: Bot) => (made: Fields) => ({ ...made, action, agent: agent.address });

/** Two steps of a run: one proven, done and checked, one given up. */
async function writeSteps(pen: Pen): Promise<Words> {
  const { one, two, engine } = pen;
  const { dagId, campaignId } = await engine.call<Record<string, string>>('POST', `${base}/runs`, work);
  const at = (nodeId: string, status: string) =>
    until(
      () => engine.call<{ nodes: { stepId: string; status: string }[] }>('GET', `${base}/dags/${dagId}`),
      ({ nodes }) => nodes.some((node) => node.stepId === nodeId && node.status === status),
    );
  const ends = { dagId: `${dagId}`, nodeId: 'ends' };
  const fails = { dagId: `${dagId}`, nodeId: 'fails' };
  for (const [bot, node] of [[one, ends] as const, [two, fails] as const]) {
    await at(node.nodeId, 'working');
    await pen.write(bot, 'claimNode', undefined, node);
    await pen.write(bot, 'progressNode', undefined, node);
  }
  // A bot that has a step is not asked to check another.
  await pen.write(two, 'failNode', undefined, fails);
  const text = marked('uploadProof');
  const form = new FormData();
  form.set('line', text);
  form.set('file', new File([text], `${text}.txt`, { type: 'text/plain' }));
  const path = fillPath(routes.get('uploadProof')?.path ?? '', ends);
  const headers = { authorization: `Bearer ${one.token}` };
  const proven = await fetch(`${pen.engineUrl}${path}`, { method: 'POST', headers, body: form });
  if (!proven.ok) throw new Error(`The proof was not taken: ${proven.status} ${await proven.text()}`);
  pen.note(text);
  await pen.write(one, 'doneNode', (made) => ({ ...made, note: undefined }), ends);
  // Refused until it is asked to check.
  const check = () => pen.write(two, 'doneNode', (made) => ({ ...made, output: undefined }), ends);
  await until(
    () => check().catch(String),
    (answer) => typeof answer !== 'string',
  );
  const { runs } = await engine.call<{ runs: { id: string }[] }>('GET', `${base}/agent-runs`);
  const run = [ends.dagId, ends.dagId, runs[0]?.id ?? ''];
  return { run, dag: [ends.dagId], node: ['ends', 'fails'], campaign: [`${campaignId}`] };
}

async function writeMessages(pen: Pen): Promise<Words> {
  const { one, two } = pen;
  const thread = await pen.write(one, 'createThread', (made) => ({ ...made, bot: undefined }));
  const sent = (to: Bot, more: Fields) => (made: Fields) => {
    return { ...made, to: to.address, nodeId: undefined, dagId: undefined, as: undefined, queue: true, ...more };
  };
  const delivery = await pen.write(one, 'sendMessage', sent(two, { threadId: thread.id }));
  await pen.write(two, 'sendMessage', sent(one, { threadId: undefined, idempotencyKey: undefined }));
  const mailed = (to: string) => pen.write(one, 'sendMail', (made) => ({ ...made, to, inReplyTo: undefined }));
  const mail = [await mailed('owner'), await mailed(two.address)];
  const peer = await pen.write(one, 'registerPeer', (made) => ({ ...made, name: 'helper', ttlSeconds: 3600 }));
  await pen.write(two, 'sendToPeer', undefined, { id: peer.id });
  await pen.write(one, 'steerAgent', steered('checkpoint', one));
  const consulted = await pen.write<{ threadId: string }>(one, 'steerAgent', steered('consult', two));
  return {
    thread: [thread.id, consulted.threadId],
    to: [two.address, `channel:${thread.id}`],
    mail: mail.map(({ id }) => id),
    peer: [peer.id],
    delivery: [delivery.id],
  };
}

async function writePlans(pen: Pen): Promise<Words> {
  const { one } = pen;
  const held = (made: Fields) => ({ ...made, ttlSeconds: 3600 });
  const leases = [
    await pen.write(one, 'claimLease', (made) => ({ ...held(made), path: undefined })),
    await pen.write(one, 'claimLease', (made) => ({ ...held(made), name: undefined })),
  ];
  const drafted = (op: string) => (made: Fields) => {
    const text = marked(`${op}.template`);
    const step = { id: 'step', title: text, description: text, command: text };
    const params = [{ name: 'what', description: text, default: text }];
    return { ...made, template: { name: text, description: text, params, steps: [step], closure: { success: text } } };
  };
  const draft = () => pen.write(one, 'draftPlan', drafted('draftPlan'));
  const plans = [await draft(), await draft()];
  await pen.write(one, 'refinePlan', drafted('refinePlan'), { id: plans[1]?.id ?? '' });
  const schedule = await pen.write(one, 'createSchedule', ({ run, ...made }) => {
    const params = { what: marked('createSchedule.run.params') };
    const whole = { ...(run as Fields), ...work, campaignId: undefined, preset: undefined, params };
    return { ...made, run: whole, cron: '0 9 * * 1', at: undefined, timezone: undefined };
  });
  return { lease: leases.map(({ id }) => id), plan: plans.map(({ id }) => id), schedule: [schedule.id] };
}

/** Nobody but an outsider opens a ticket; the bot closes it. */
async function writeTickets(pen: Pen): Promise<Words> {
  const trigger = { botId: pen.one.address, title: hostileText() };
  const { url } = await pen.engine.call<{ url: string }>('POST', `${base}/triggers`, trigger);
  await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: hostileText() });
  const { tickets } = await until(
    () => pen.one.caller.call<{ tickets: { id: string }[] }>('GET', `${base}/tickets`),
    (list) => list.tickets.length > 0,
  );
  const id = tickets[0]?.id ?? '';
  await pen.write(pen.one, 'closeTicket', undefined, { id });
  return { ticket: [id] };
}

/** What a person is asked, and what a program reports of itself. */
async function writeQuestions(pen: Pen): Promise<Words> {
  await pen.write(pen.one, 'checkGate', (made) => ({ ...made, waitSeconds: 0 }));
  const text = marked('agentHook');
  // Of a sub-agent: the end of the turn below is not its end.
  for (const tool of ['Bash', 'Write', text]) {
    const input = { command: text, file_path: text, content: text };
    const asked = { session_id: 's', agent_id: 'sub', tool_name: tool, tool_input: input };
    pen.ask('asker', `${base}/hooks/PermissionRequest`, asked);
  }

  interface Tool {
    readonly name: string;
    readonly inputSchema: JsonSchema & { readonly required?: readonly string[] };
  }
  const { tools } = await pen.two.caller.call<{ tools: readonly Tool[] }>('GET', '/api/v1/tools');
  for (const { name, inputSchema } of tools) {
    const argument = (path: string) => marked(`callTool.arguments.${name}.${path}`);
    const all = sampleOf(inputSchema, { turn: 0, text: argument }) as Fields;
    const needed = Object.fromEntries(Object.entries(all).filter(([key]) => inputSchema.required?.includes(key)));
    for (const given of [all, needed]) pen.ask('two', `/api/v1/tools/${name}/call`, { arguments: given });
  }
  const _meta = { [mcpMeta.version]: modernVersion, [mcpMeta.clientCapabilities]: {} };
  const params = { name: 'shell.exec', arguments: { command: marked('mcpServer'), shell: true }, _meta };
  pen.ask('two', mcpServer.path, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, mcpHeadersOf(params));

  const asking = ['checkGate.tool', 'agentHook', 'callTool.arguments', 'mcpServer'];
  const { approvals } = await until(
    () => pen.web.call<{ approvals: { id: string }[] }>('GET', `${base}/approvals?state=pending`),
    (list) => asking.every((field) => has(new Set(marksIn(JSON.stringify(list))), field)),
  );
  // Its state says this from here on.
  const failed = { error: 'billing', last_assistant_message: text };
  await pen.asker.caller.call('POST', `${base}/hooks/StopFailure`, failed);
  return { approval: approvals.map(({ id }) => id), tool: ['shell.exec'] };
}

const mcpHeadersOf = ({ name }: { readonly name: string }) => ({
  accept: 'application/json, text/event-stream',
  [mcpHeaders.version]: modernVersion,
  [mcpHeaders.method]: 'tools/call',
  [mcpHeaders.name]: name,
});

async function writeAll(pen: Pen): Promise<Words> {
  const { one, two, asker } = pen;
  // Before anything is typed into the bot whose turn it ends.
  await pen.write(one, 'steerAgent', steered('interrupt', two));
  const words: Words = {
    ...(await writeSteps(pen)),
    ...(await writeMessages(pen)),
    ...(await writePlans(pen)),
    ...(await writeTickets(pen)),
    ...(await writeQuestions(pen)),
  };
  return {
    ...words,
    bot: [one.address, asker.address, two.address],
    'bot@team': [one.address, two.address],
    what: [asker.address, words.run?.[0] ?? '', 'ends', words.delivery?.[0] ?? ''],
    template: ['work'],
    team: ['bench'],
    id: ['0'],
  };
}

export interface Read {
  readonly runs: number;
  readonly quoted: number;
  readonly problems: string[];
  readonly fields: number;
}

async function readAll(envs: readonly Record<string, string>[], words: Words, choices: number) {
  const problems: string[] = [];
  const shown = new Set<string>();
  let runs = 0;
  let quoted = 0;
  for (const env of envs) {
    for (const [verb, described] of verbs) {
      // Of a cloud: the stand-in answers them.
      if (verb.startsWith('admin ')) continue;
      const always = described.mutation === true ? ['--dry-run'] : [];
      const forms = Array.from({ length: choices }, (_, choice) => {
        const word = (name: string) => {
          const known = words[name] ?? [];
          return known[choice % known.length] ?? hostileText();
        };
        return formsOf(verb, described, word, always);
      }).flat();
      const once = new Map(forms.map((form) => [JSON.stringify(form), form]));
      for (const argv of [...once.values()].flatMap((form) => [form, [...form, '--json']])) {
        const out = await printed(env, argv, Date.now());
        runs += 1;
        if (out.includes(forged)) quoted += 1;
        for (const field of marksIn(out)) shown.add(field);
        const problem = problemOf(verb, argv, out);
        if (problem !== null) problems.push(problem);
      }
    }
  }
  return { problems, shown, runs, quoted };
}

export async function writtenByBots(quick: boolean): Promise<Read> {
  const place = scratchHome({ bench: team });
  const bin = installStandInClaude(join(place.home, '..', 'bin'));
  const gantry = join(place.workspace, '.gantry');
  mkdirSync(join(gantry, 'templates'), { recursive: true });
  writeFileSync(join(gantry, 'templates', 'work.json'), JSON.stringify(template));
  writeFileSync(join(gantry, 'policy.yaml'), policy);
  const env = { ...place.env, PATH: `${bin}:${process.env.PATH}` };
  try {
    const product = await startBuilt({ ...place, env });
    try {
      return await writeAndRead(product, place, env, quick);
    } finally {
      await product.stop();
    }
  } finally {
    await place.remove();
  }
}

async function writeAndRead(
  product: Product,
  { home, workspace }: ScratchHome,
  env: Record<string, string>,
  quick: boolean,
): Promise<Read> {
  const agents = await teamUp(product, 'bench');
  const bots = Object.fromEntries(
    agents.map(({ id, slug, address }): [string, Bot] => {
      const tokenFile = join(home, 'run', 'bots', id, 'token');
      const token = readFileSync(tokenFile, 'utf8').trim();
      return [slug, { address, tokenFile, token, caller: createCaller(product.engineUrl, token) }];
    }),
  ) as unknown as Bots;
  const pen = createPen(product, bots);
  try {
    const words = await writeAll(pen);
    const own = { GANTRY_URL_FILE: join(home, 'run', 'url'), GANTRY_WORKSPACE: workspace };
    const asBot = { ...env, ...own, GANTRY_TOKEN_FILE: bots.two.tokenFile };
    const { problems, shown, ...counts } = await readAll(quick ? [env] : [env, asBot], words, quick ? 2 : 4);
    const fields = [...routes.values()].flatMap((route) =>
      sampleFor(route).fields.filter((field) => !names.has(field)),
    );
    for (const field of fields) {
      if (!has(pen.written, field))
        problems.push(`${field}: a bot's token may write it, and nothing was written there`);
      else if (!has(shown, field) && !unseen.has(field)) problems.push(`${field}: no command showed what was written`);
    }
    return { ...counts, problems, fields: fields.length };
  } finally {
    pen.close();
  }
}
