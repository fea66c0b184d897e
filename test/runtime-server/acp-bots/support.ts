/** An engine with bots that are stand-in agents over ACP. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, vi } from 'vitest';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import type { ConversationEntry, ConversationModes } from '../../../src/contracts/factory/conversation-routes.ts';
import type { Delivery, Message } from '../../../src/contracts/factory/delivery.ts';
import { scratchFolder } from '../../support/scratch.ts';
import type { Engine } from '../engine.ts';

export const standIn = resolve(import.meta.dirname, '../../support/stand-in-acp.mjs');
export const waits = { timeout: 20_000, interval: 20 };
let teams = 0;

/** A team of one bot `dev`, up and idle. Answers its address. */
export async function agentTeam(engine: Engine, options = '', more = ''): Promise<string> {
  const address = await agentUp(engine, options, more);
  await engine.until(address, 'idle');
  return address;
}

/** The same by the name of the program of an agent that is known. */
export async function knownAgentTeam(engine: Engine, program: string, options: string): Promise<string> {
  const file = join(scratchFolder(), program);
  writeFileSync(file, `#!/bin/sh\nexec ${process.execPath} ${standIn} ${options}\n`, { mode: 0o755 });
  const address = await agentUp(engine, '', '', file);
  await engine.until(address, 'idle');
  return address;
}

export async function agentUp(
  engine: Engine,
  options = '',
  more = '',
  command = `${process.execPath} ${standIn}${options}`,
): Promise<string> {
  teams += 1;
  const name = `crew${teams}`;
  engine.team(name, `bots:\n  - bot: dev\n    harness: acp\n    command: ${command}\n${more}`);
  const up = await engine.call('POST', `/teams/${name}/up`, {});
  expect(up.status, JSON.stringify(up.body)).toBe(200);
  return `dev@${name}`;
}

export async function send(engine: Engine, to: string, text: string, more: object = {}): Promise<Delivery> {
  const sent = await engine.call<Delivery>('POST', '/send', { to, text, ...more });
  expect(sent.status, JSON.stringify(sent.body)).toBe(200);
  return sent.body;
}

export interface Page {
  readonly entries: ConversationEntry[];
  readonly rev: number;
  readonly more: boolean;
  readonly modes: ConversationModes | null;
}

export async function conversation(engine: Engine, address: string, query = ''): Promise<Page> {
  const read = await engine.call<Page>('GET', `/agents/${address}/conversation${query}`);
  expect(read.status, JSON.stringify(read.body)).toBe(200);
  return read.body;
}

/** Kinds and texts, for a comparison in one look. */
export async function told(engine: Engine, address: string): Promise<string[]> {
  const { entries } = await conversation(engine, address);
  return entries.map(({ kind, text, tool, question }) =>
    [kind, tool === undefined ? text : `${tool.title}: ${tool.status}`, question?.answer].filter(Boolean).join(' '),
  );
}

export async function transcript(engine: Engine, address: string): Promise<string> {
  const read = await engine.call<{ chunks: { text: string }[] }>('GET', `/agents/${address}/transcript`);
  expect(read.status).toBe(200);
  return read.body.chunks.map((chunk) => chunk.text).join('');
}

export async function delivery(engine: Engine, address: string, id: string): Promise<Delivery | undefined> {
  const read = await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?agent=${address}`);
  return read.body.deliveries.find((one) => one.id === id);
}

export const question = (engine: Engine): Promise<Approval> =>
  vi.waitFor(async () => {
    const [first] = await engine.approvals.live();
    expect(first).toBeDefined();
    return first as Approval;
  }, waits);

export async function answer(
  engine: Engine,
  id: string,
  decision: 'approve' | 'reject',
  note: string | null = null,
): Promise<string> {
  const resolvedBy = { user: 'user_local', surface: 'browser' };
  return engine.approvals.answer({ id, decision, note, resolvedBy, at: new Date().toISOString() });
}

export async function messages(engine: Engine, thread: string): Promise<Message[]> {
  const read = await engine.call<{ messages: Message[] }>('GET', `/threads/${thread}/messages`);
  return read.body.messages.toReversed();
}
