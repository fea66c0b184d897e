/** The cloud's end of a hosted computer's link: it offers a connection, the computer dials on it, and calls go over the link. */
import { randomBytes } from 'node:crypto';
import { type Agent, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { createTakeOffered } from '../../../src/cloud-api/hosted-computers/index.ts';
import { createDialIns, type DialIns } from '../../../src/cloud-api/link/dial-ins.ts';
import { createLinkAgent } from '../../../src/cloud-api/link/link.ts';
import type { ToolsetCall, ToolsetResult } from '../../../src/contracts/computer-use/toolset.ts';
import { driverUser } from '../../../src/contracts/hosted-computers/computer.ts';
import { linkPath } from '../../../src/contracts/link/dial-in.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import type { Dial } from '../../../src/kit/link/offer.ts';
import { signatureHeaders, signatureMatches } from '../../../src/kit/signing/signature.ts';

export interface Called<Body> {
  readonly status: number;
  readonly body: Body;
}

export type Offer = (dial: Dial) => Promise<Duplex>;

export interface LinkedComputer {
  call<Body>(method: string, path: string, body?: unknown): Promise<Called<Body>>;
  drive(toolset: ToolsetCall['toolset'], member: string, input?: ToolsetCall['input']): Promise<Called<ToolsetResult>>;
  close(): Promise<void>;
}

/** Resolves once the computer has dialled; rejects if the connection that it was offered closes. */
export async function linkComputer(computer: string, offer: Offer): Promise<LinkedComputer> {
  const key = randomBytes(32).toString('hex');
  const authenticate = async ({ headers, method = '', url = '' }: IncomingMessage) => {
    const { id, ts, sig } = signatureHeaders;
    const signed = { ts: String(headers[ts]), method, path: url, body: '' };
    const isIt = headers[id] === computer && url === linkPath && signatureMatches(key, signed, String(headers[sig]));
    return isIt ? { computerId: computer, userId: driverUser(computer) } : null;
  };
  const log = { info() {}, warn: console.warn };
  const dialIns = createDialIns({ authenticate, clock: systemClock, timers: systemTimers, log });
  const connection = await offer({ computer, key, at: Date.now() });
  await new Promise<void>((resolve, reject) => {
    dialIns.onChange((_, linked) => linked && resolve());
    connection.once('close', () => reject(new Error(`${computer} did not dial.`)));
    createTakeOffered(dialIns.handleUpgrade)(computer, connection);
  });
  const linked = linkedOver(dialIns, computer);
  return {
    ...linked,
    async close() {
      await linked.close();
      await dialIns.close(0);
    },
  };
}

/** Calls to a computer that has dialled. */
export function linkedOver(dialIns: Pick<DialIns, 'credential' | 'open'>, computer: string): LinkedComputer {
  const agent = createLinkAgent(dialIns, computer);
  const call = <Body>(method: string, path: string, body?: unknown) =>
    send<Body>({ agent, computer, bearer: dialIns.credential(computer) ?? '', method, path, body });
  return {
    call,
    drive: (toolset, member, input = {}) =>
      call('POST', '/api/v1/computers/this-device/toolset', { toolset, member, input }),
    close: async () => agent.destroy(),
  };
}

/** One call over a link of its own. */
export async function callOver<Result>(
  computer: string,
  offer: Offer,
  work: (linked: LinkedComputer) => Promise<Result>,
): Promise<Result> {
  const linked = await linkComputer(computer, offer);
  try {
    return await work(linked);
  } finally {
    await linked.close();
  }
}

function send<Body>({
  agent,
  computer,
  bearer,
  method,
  path,
  body,
}: {
  readonly agent: Agent;
  readonly computer: string;
  readonly bearer: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}): Promise<Called<Body>> {
  const headers = {
    host: 'engine',
    authorization: `Bearer ${bearer}`,
    'x-platform-user-id': driverUser(computer),
    'x-gantry-surface': 'key',
    'content-type': 'application/json',
  };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, method, path, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as Body });
      });
    });
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
