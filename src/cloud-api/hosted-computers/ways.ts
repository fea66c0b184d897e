/**
 * The way to a computer's own program: the link that it dialled, as its owner `platform-drv:<id>`, whichever replica holds it. A computer that is not
 * linked is offered a connection to dial on; one that dials without is waited for. Must not know routes or meters.
 */
import { type Agent, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { driverUser } from '../../contracts/hosted-computers/computer.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { clientOf, linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Dial } from '../../kit/link/offer.ts';
import type { Upstream } from '../link/ask.ts';
import { createLinkAgent, type Link } from '../link/link.ts';
import { readAnswer } from '../link/read-answer.ts';
import type { Credentials } from './credentials.ts';
import { DriverFault, type HostedDriver } from './driver.ts';
import { type ComputerRow, unavailable } from './model.ts';
import type { TakeOffered } from './offered.ts';

type Offer = NonNullable<HostedDriver['offer']>;

interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly principal: Principal;
}

export interface Ways {
  /** Resolves once the computer has dialled again, after what is done before it. Throws if it does not. Calls made meanwhile wait for it. */
  dial(row: ComputerRow, before: (dial: Dial) => Promise<unknown>): Promise<void>;
  /** Has it dial if no replica has its link. Never rejects: the next call says why it cannot be reached. */
  keep(row: ComputerRow): Promise<void>;
  /** Ends its link here: it stopped, or is gone. */
  forget(computerId: string): void;
  /** Throws `computer_unavailable` if it cannot be reached. */
  upstream(row: ComputerRow, path: string, principal: Principal): Promise<Upstream>;
  /** Reads the whole answer, even if the caller has left. Throws the connection's error. */
  ask(row: ComputerRow, question: Question): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): void;
}

/** The links of hosted computers, of all replicas, and how those of this process come and end. */
export interface HostedLink {
  readonly link: Link;
  readonly take: TakeOffered;
  end(computerId: string, reason: string): void;
}

/** Limit in bytes of an answer: two pictures of the largest screen. */
const largestAnswer = 32 * 1024 * 1024;
/** Limit for a whole answer, longer than any call may take: a key is held for 300 s at most. Milliseconds. */
export const patienceMs = 330_000;
/** From a program that listens to its link; a machine that starts several is slow. */
const dialsWithinMs = 60_000;
/** A dial that is refused names the newest one, and the next one is newer: two follow at once. */
const atOnce = 2;
const againMs = 250;
/** Where this replica does not reach the driver, one that does notices within its sweep that a link is missing. */
const othersDialMs = 8_000;

export function createWays({
  driver,
  hosted: { link, take, end },
  keyOf,
  now,
  timers,
}: {
  readonly driver: Pick<HostedDriver, 'offer'>;
  readonly hosted: HostedLink;
  readonly keyOf: Credentials['keyOf'];
  /** By which dials are judged. */
  readonly now: () => number;
  readonly timers: Timers;
}): Ways {
  const agents = new Map<string, Agent>();
  const dialling = new Map<string, Promise<void>>();
  const closing = new AbortController();

  function agentOf(id: string): Agent {
    const agent = agents.get(id) ?? createLinkAgent(link, id);
    agents.set(id, agent);
    return agent;
  }

  /** True once the computer has dialled on a new connection; false if that closed before. */
  async function offerOnce(row: ComputerRow, offer: Offer, dial: Dial, signal: AbortSignal): Promise<boolean> {
    const connection = await offer(row.id, dial);
    return new Promise<boolean>((resolve) => {
      const done = (linked: boolean) => {
        stop();
        signal.removeEventListener('abort', late);
        connection.off('close', closed);
        resolve(linked);
      };
      const closed = () => done(false);
      const late = () => connection.destroy();
      const stop = link.onChange((id, linked) => {
        if (id === row.id && linked) done(true);
      });
      connection.once('close', closed);
      signal.addEventListener('abort', late, { once: true });
      take(row.id, connection);
      if (signal.aborted) late();
    });
  }

  /** True once the link is another one than `former`, at whichever replica. */
  async function linkedAnew(row: ComputerRow, former: string | null, signal: AbortSignal): Promise<boolean> {
    if (!(await link.untilLinked(row.id, dialsWithinMs, signal))) return false;
    // Each connection has a bearer of its own; what stopped may still be taken for linked.
    return (await link.credential(row.id)) !== former;
  }

  function dialOf(row: ComputerRow): Dial {
    const key = keyOf(row);
    if (key === null) throw new Error(`it is ${row.phase}`);
    return { computer: row.id, key, at: now() };
  }

  async function dialNow(row: ComputerRow, former: string | null): Promise<void> {
    const { offer } = driver;
    const late = new AbortController();
    const cancel = timers.after(dialsWithinMs, () => late.abort());
    const signal = AbortSignal.any([late.signal, closing.signal]);
    try {
      for (let tries = 0; !signal.aborted; tries += 1) {
        if (offer === null) {
          if (await linkedAnew(row, former, signal)) return;
        } else if (await offerOnce(row, offer, dialOf(row), signal)) return;
        if (offer === null || tries >= atOnce) await delay(againMs, undefined, { signal }).catch(() => {});
      }
    } finally {
      cancel();
    }
    throw new Error(`its program did not dial within ${dialsWithinMs / 1000} s; stop it and start it again`);
  }

  async function dialAfter(row: ComputerRow, before: (dial: Dial) => Promise<unknown>): Promise<void> {
    const former = driver.offer === null ? await link.credential(row.id) : null;
    await before(dialOf(row));
    await dialNow(row, former);
  }

  function dial(row: ComputerRow, before: (dial: Dial) => Promise<unknown> = async () => {}): Promise<void> {
    const work = dialAfter(row, before).finally(() => dialling.delete(row.id));
    dialling.set(row.id, work);
    return work;
  }

  const dialOnce = (row: ComputerRow) => dialling.get(row.id) ?? dial(row);

  async function linked({ id }: ComputerRow): Promise<boolean> {
    return (await link.state(id)).linked;
  }

  async function reach(row: ComputerRow): Promise<void> {
    if (!dialling.has(row.id) && (await linked(row))) return;
    try {
      await dialOnce(row);
    } catch (fault) {
      // Another replica is waking it, or reaches the driver while this one does not.
      const others = !(fault instanceof DriverFault) || fault.code === 'sleeping';
      if (others && (await link.untilLinked(row.id, othersDialMs, closing.signal))) return;
      throw unavailable(`The computer ${row.id} cannot be reached: ${(fault as Error).message}`);
    }
  }

  async function upstream(row: ComputerRow, path: string, principal: Principal): Promise<Upstream> {
    await reach(row);
    const headers: OutgoingHttpHeaders = {
      host: 'engine',
      authorization: `Bearer ${(await link.credential(row.id)) ?? ''}`,
      [linkHeaders.user]: driverUser(row.id),
      [linkHeaders.surface]: surfaceOf(principal),
      [linkHeaders.client]: clientOf(principal),
    };
    return { agent: agentOf(row.id), path, headers };
  }

  async function send({ agent, headers, path }: Upstream, { method, body }: Question) {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const more = bytes && { 'content-type': 'application/json', 'content-length': bytes.length };
    return new Promise<{ status: number; body: unknown }>((resolve, reject) => {
      const outgoing = startRequest({ agent, method, path, headers: { ...headers, ...more } });
      // Covers the first byte to the last: a computer that drips bytes never times out on silence.
      const cancel = timers.after(patienceMs, () =>
        outgoing.destroy(new Error('The computer does not answer in time.')),
      );
      outgoing.once('close', cancel);
      outgoing.once('error', reject);
      outgoing.once('response', (answer) => {
        readAnswer(answer, largestAnswer)
          .then((text) => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text.toString()) as unknown }))
          .catch(reject);
      });
      outgoing.end(bytes);
    });
  }

  return {
    dial,
    async keep(row) {
      // Another replica has it, or it is being dialled.
      if (dialling.has(row.id) || (await linked(row).catch(() => true))) return;
      await dialOnce(row).catch(() => {});
    },
    forget(id) {
      agents.get(id)?.destroy();
      agents.delete(id);
      end(id, 'The computer does not run any more.');
    },
    upstream,
    async ask(row, question) {
      const way = () => upstream(row, question.path, question.principal);
      const first = await way();
      try {
        const answer = await send(first, question);
        // Each program takes its own bearers only: it was started again in between.
        if (answer.status !== 401) return answer;
      } catch (fault) {
        // The link ended before anything was sent on it.
        const unsent = fault instanceof AppError && fault.code === 'transport';
        if (!unsent) throw fault;
      }
      return send(await way(), question);
    },
    close() {
      closing.abort();
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}
