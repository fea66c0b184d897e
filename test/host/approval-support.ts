/** A question to a person for tests, and how the person sees and answers it. */
import { expect } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import { actionHash } from '../../src/kit/signing/action-hash.ts';
import type { ApprovalAsk } from '../../src/runtime-server/approvals/index.ts';
import type { startPair } from './support.ts';

export type Pair = Awaited<ReturnType<typeof startPair>>;

export const push: ApprovalAsk = {
  source: 'gate',
  kind: 'tool_call',
  title: 'Push to the remote',
  summary: 'git push origin main',
  risk: 'high',
  agentId: 'agent_1',
  actionHash: actionHash({ tool: 'shell', command: 'git push origin main' }),
  expiresInMs: 60_000,
};

/** Waits until so many are pending in the cloud. */
export async function pending(pair: Pair, count = 1): Promise<Approval[]> {
  const read = async () => {
    const reply = await pair.callWeb('GET', '/api/factory/approvals?state=pending');
    return (reply.json as unknown as { approvals: Approval[] }).approvals;
  };
  await expect.poll(async () => (await read()).length).toBe(count);
  return read();
}

export const resolve = (pair: Pair, id: string, body: object, options = {}) =>
  pair.callWeb('POST', `/api/factory/approvals/${id}/resolve`, { body, ...options });
