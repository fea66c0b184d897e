/** A hosted bot as a subject of the kit: Gantry as a person gets it, over HTTP, with a scripted model. What is killed is Gantry itself. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent, AgentState } from '../../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { EventEnvelope } from '../../../src/contracts/factory/events.ts';
import type { Spending } from '../../../src/contracts/factory/spending-routes.ts';
import { CallError } from '../../support/bench/http.ts';
import { type Product, scratchHome, startProduct, teamUp, waitIdle } from '../../support/bench/product.ts';
import { type ModelReply, text, tools } from '../../support/model-server/script.ts';
import { startModelServer } from '../../support/model-server/server.ts';
import { type Sent, type Subject, until } from './subject.ts';

const team = 'kit';
const address = `bot@${team}`;
const api = '/api/factory';
const settled: ReadonlySet<Delivery['state']> = new Set(['verified', 'unconfirmed', 'best_effort', 'failed']);

function reply(words: string): ModelReply {
  const command = { command: 'echo ran >> ran.txt', shell: true };
  if (words.includes('RUNSHELL')) return tools({ name: 'shell_exec', input: command });
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  return text('A plain answer.', { pieces: 5, pauseMs: words.includes('BUSY') ? 200 : 20 });
}

export async function openHosted(): Promise<{ readonly subject: Subject; close(): Promise<void> }> {
  const model = await startModelServer(({ lastUser }) => reply(lastUser));
  const place = scratchHome({ [team]: 'bots:\n  - { bot: bot, binding: hosted, model: local/scripted }\n' });
  mkdirSync(place.home, { recursive: true, mode: 0o700 });
  const models = {
    endpoints: { local: { wire: 'openai', baseUrl: `${model.url}/v1` } },
    prices: { scripted: { input: 1, output: 5 } },
  };
  writeFileSync(join(place.home, 'settings.json'), JSON.stringify({ models }), { mode: 0o600 });
  const log = join(place.workspace, 'ran.txt');
  let live: Product | null = null;
  let states: AgentState[] = [];

  const call = <T>(method: string, path: string, body?: unknown): Promise<T> => {
    if (live === null) throw new Error('It was not begun.');
    return live.engine.call<T>(method, `${api}${path}`, body);
  };
  const agent = async () => {
    const { agents } = await call<{ agents: Agent[] }>('GET', `/agents?team=${team}`);
    return agents[0] as Agent;
  };
  const pending = async () =>
    (await live?.web.call<{ approvals: { id: string }[] }>('GET', `${api}/approvals?state=pending`))?.approvals[0];
  const ending = async ({ id, state, evidence }: Delivery): Promise<Sent> => {
    let last: Pick<Delivery, 'state' | 'evidence'> = { state, evidence };
    await until('the end of a delivery', async () => {
      if (settled.has(last.state)) return true;
      const { deliveries } = await call<{ deliveries: Delivery[] }>('GET', `/deliveries?agent=${address}`);
      last = deliveries.find((one) => one.id === id) ?? last;
      return false;
    });
    return last as Sent;
  };
  const prompts = () => model.requests.flatMap(({ lastUser }) => (lastUser === '' ? [] : [lastUser]));
  let sending: Promise<unknown> = Promise.resolve();

  const subject: Subject = {
    name: 'hosted',
    exempt: { draft: 'it has no composer, so nobody can leave a half-typed message there' },
    witness: 'model',
    async begin({ resume } = { resume: false }) {
      live = await startProduct(place);
      if (resume) await waitIdle(live, team);
      else await teamUp(live, team);
      const { id } = await agent();
      states = [];
      await live.engine.events(`${api}/events`, ({ data }) => {
        const { type, data: about } = data as EventEnvelope;
        const { agentId, state } = about as { agentId?: string; state: AgentState };
        if (type === 'agent.state' && agentId === id) states.push(state);
      });
    },
    async end() {
      const last = live;
      live = null;
      await last?.stop();
    },
    async kill() {
      await live?.kill();
      live = null;
    },
    quiet: () => until('an idle bot', async () => (await agent()).state === 'idle' && (await agent()).queueDepth === 0),
    async send(words) {
      // Accepted in order; the queue does the rest.
      const accepted = sending.then(() => call<Delivery>('POST', '/send', { to: address, text: words }));
      sending = accepted.catch(() => undefined);
      return ending(await accepted);
    },
    async offer(words) {
      try {
        return await ending(await call<Delivery>('POST', '/send', { to: address, text: words, queue: false }));
      } catch (error) {
        if (error instanceof CallError && error.status === 409) return { state: 'held' };
        throw error;
      }
    },
    state: async () => (await agent()).state,
    states: () => states,
    atWork: () => until('a turn', async () => (await agent()).state === 'working'),
    interrupt: async () => {
      const steered = await call<{ interrupted: boolean }>('POST', '/steer', { agent: address, action: 'interrupt' });
      return steered.interrupted;
    },
    async answer() {
      await until('an approval', async () => (await pending()) !== undefined);
      // Approvals belong to the shared half.
      await live?.web.call('POST', `${api}/approvals/${(await pending())?.id}/resolve`, { decision: 'approve' });
    },
    ran: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0),
    prompts,
    together(first, second) {
      const asked = model.requests.findLast(({ lastUser }) => lastUser.includes(second));
      return JSON.stringify(asked?.body ?? '').includes(first);
    },
    async usage() {
      const { bots } = await call<Spending>('GET', '/spending');
      const used = bots.find((bot) => bot.address === address)?.today;
      const { requests = 0, inputTokens = 0, outputTokens = 0 } = used ?? {};
      return Array.from({ length: requests }, (_, at) => ({
        id: String(at),
        input: inputTokens,
        output: outputTokens,
      }));
    },
  };
  return {
    subject,
    async close() {
      await subject.end();
      await place.remove();
      await model.close();
    },
  };
}
