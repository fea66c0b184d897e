/** An engine with a hosted bot and a scripted model server that speaks all wires. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import type { Delivery, Message } from '../../../src/contracts/factory/delivery.ts';
import type { ModelReply, ModelRequest, Script } from '../../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../../support/model-server/server.ts';
import { type Engine, type EngineOptions, startEngine } from '../engine.ts';

export const secretKey = 'sk-test-0123456789-secret';

export interface Floor {
  readonly engine: Engine;
  readonly server: ModelServer;
  /** A team of one hosted bot `bot`, up. Answers its address. */
  team(bot: string, more?: string): Promise<string>;
  send(to: string, text: string, more?: Record<string, unknown>): Promise<Delivery>;
  thread(bot: string): Promise<string>;
  messages(thread: string): Promise<Message[]>;
  /** The live question, once there is one. */
  question(): Promise<Approval>;
  answer(id: string, decision: 'approve' | 'reject', note?: string): Promise<void>;
  transcript(address: string): Promise<string>;
  delivery(id: string, to: string): Promise<Delivery>;
}

export const waits = { timeout: 20_000, interval: 20 };
let teams = 0;

export async function openFloor(options: EngineOptions & { keys?: Record<string, string> } = {}): Promise<Floor> {
  const server = await startModelServer();
  const { onEnd } = options;
  const engine = await startEngine({
    ...options,
    env: {
      ANTHROPIC_BASE_URL: server.url,
      OPENAI_BASE_URL: `${server.url}/v1`,
      GOOGLE_GEMINI_BASE_URL: server.url,
      ...(options.keys ?? { ANTHROPIC_API_KEY: secretKey, OPENAI_API_KEY: secretKey, GEMINI_API_KEY: secretKey }),
      ...options.env,
    },
  });
  onEnd?.(() => server.close());
  mkdirSync(join(engine.workspace, 'src'), { recursive: true });
  const floor: Floor = {
    engine,
    server,
    async team(bot, more = '') {
      teams += 1;
      const name = `crew${teams}`;
      engine.team(
        name,
        `bots:\n  - { bot: ${bot}, role: maker, binding: hosted, ${more || 'model: anthropic/claude-x'} }\n`,
      );
      const up = await engine.call('POST', `/teams/${name}/up`, {});
      expect(up.status, JSON.stringify(up.body)).toBe(200);
      return `${bot}@${name}`;
    },
    async send(to, text, more = {}) {
      const sent = await engine.call<Delivery>('POST', '/send', { to, text, ...more });
      expect(sent.status, JSON.stringify(sent.body)).toBe(200);
      return sent.body;
    },
    async thread(bot) {
      const made = await engine.call<{ id: string }>('POST', '/threads', { title: 'talk', bot });
      expect(made.status).toBe(201);
      return made.body.id;
    },
    async messages(thread) {
      const read = await engine.call<{ messages: Message[] }>('GET', `/threads/${thread}/messages`);
      return read.body.messages.toReversed();
    },
    question: () =>
      vi.waitFor(async () => {
        const [first] = await engine.approvals.live();
        expect(first).toBeDefined();
        return first as Approval;
      }, waits),
    async answer(id, decision, note) {
      const at = new Date().toISOString();
      const resolvedBy = { user: 'user_local', surface: 'browser' };
      expect(await engine.approvals.answer({ id, decision, note: note ?? null, resolvedBy, at })).toBe('applied');
    },
    async transcript(address) {
      const agent = await engine.agent(address);
      const read = await engine.call<{ chunks: { text: string }[] }>('GET', `/agents/${agent.id}/transcript`);
      expect(read.status).toBe(200);
      return read.body.chunks.map((chunk) => chunk.text).join('');
    },
    async delivery(id, to) {
      const read = await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?agent=${to}`);
      return read.body.deliveries.find((one) => one.id === id) as Delivery;
    },
  };
  return floor;
}

/** A script by turns: the n-th request gets the n-th reply; the last one for ever. Replies may look at the request. */
export function steps(
  ...replies: (ModelReply | ((request: ModelRequest) => ModelReply | Promise<ModelReply>))[]
): Script {
  let next = 0;
  return (request) => {
    const reply = replies[Math.min(next++, replies.length - 1)] as (typeof replies)[number];
    return typeof reply === 'function' ? reply(request) : reply;
  };
}
