// Runs apart: it kills servers and waits for their leases by real time.
/**
 * Three replicas as their command starts them, one address in front, and each of them killed in turn while people watch: streams go on
 * at another one, with every event once and in order, and the computer comes back by itself.
 */
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSseParser } from '../../src/contracts/common/sse-parser.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { newToken } from '../../src/kit/secrets/token-file.ts';
import { signingKey } from '../../src/kit/signing/signature.ts';
import { createDialer } from '../../src/runtime-server/link/dialer.ts';
import { personWith } from '../cloud-api/identity/support.ts';
import { caller, keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { quiet } from '../support/link.ts';
import { signInAs } from '../support/oidc-provider.ts';
import { postgres } from '../support/postgres.ts';
import { type Replicas, startReplicas } from '../support/replicas.ts';

const stop = keepUntilEnd();

/** An engine's event stream: numbered events, and whoever names the last one goes on behind it. */
function createEvents() {
  const readers = new Set<{ next: number; readonly response: ServerResponse }>();
  let newest = 0;
  const bring = () => {
    for (const reader of readers) {
      for (; reader.next <= newest; reader.next += 1) reader.response.write(`id: ${reader.next}\ndata: {}\n\n`);
    }
  };
  const timer = setInterval(() => {
    newest += 1;
    bring();
  }, 15);
  return {
    newest: () => newest,
    stop: () => clearInterval(timer),
    serve(after: number, response: ServerResponse) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
      const reader = { next: after + 1, response };
      readers.add(reader);
      response.once('close', () => readers.delete(reader));
      bring();
    },
  };
}

interface Heard {
  readonly id: string;
  readonly data: string;
}

/** Reads on for as long as it is let, from wherever it was cut. */
function follow(url: string, cookie: string) {
  const heard: Heard[] = [];
  const leave = new AbortController();
  let connections = 0;
  async function once(): Promise<void> {
    const lastId = heard.at(-1)?.id;
    const headers = {
      cookie,
      accept: 'text/event-stream',
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    };
    const answer = await fetch(url, { headers, signal: leave.signal });
    if (answer.status !== 200) return void (await answer.text());
    connections += 1;
    const parser = createSseParser();
    const decoder = new TextDecoder();
    for await (const part of answer.body!) {
      for (const { id, data } of parser.push(decoder.decode(part, { stream: true }))) {
        if (id !== null) heard.push({ id, data });
      }
    }
  }
  const ended = (async () => {
    while (!leave.signal.aborted) {
      await once().catch(() => {});
      await pause(50);
    }
  })();
  onEnd(async () => {
    leave.abort();
    await ended;
  });
  return { heard, connections: () => connections };
}

describe.skipIf(postgres === null)('on PostgreSQL', () => {
  let cloud: Replicas;
  let cookie = '';
  beforeAll(async () => {
    cloud = await startReplicas(3);
    onEnd(() => cloud.close());
    cookie = await signInAs('ada', cloud.origin);
  }, 120_000);
  afterAll(stop, 60_000);

  test('streams go on at another replica when the one that serves them is killed, and the one that holds the link', async () => {
    const port = Number(new URL(cloud.origin).port);
    const ada = await personWith({ call: caller(port, null) }, cookie);
    const events = createEvents();
    onEnd(async () => events.stop());
    const engine = createServer((request, response) => {
      if (!request.url?.endsWith('/events')) return void response.end('{}');
      events.serve(Number(request.headers['last-event-id'] ?? 0), response);
    });
    const computerId = `computer_01H${'A'.repeat(23)}`;
    const body = { computerId, name: 'Desk', version: '0.1.0' };
    const begun = (await ada.call('POST', '/api/v1/pairings', { body })).json as never as Record<string, string>;
    await ada.call('POST', `/api/v1/pairings/${begun.userCode}/approve`);
    const grant = await ada.call('POST', '/api/v1/pairings/token', { body: { deviceCode: begun.deviceCode } });
    const key = signingKey((grant.json as never as { deviceToken: string }).deviceToken);
    const dialer = createDialer({
      home: () => ({ cloudUrl: cloud.origin, computerId, key }),
      serve: { engine: (pipe) => void engine.emit('connection', pipe), peer: (pipe) => pipe.destroy() },
      linkToken: newToken,
      clock: systemClock,
      timers: systemTimers,
      random: Math.random,
      log: quiet,
    });
    onEnd(() => dialer.stop(0));
    dialer.start();

    // One at each replica: whichever is killed, somebody's stream is cut, and one replica held the link.
    const readers = [0, 1, 2].map(() => follow(`${cloud.origin}/api/factory/events`, cookie));
    const tasks = follow(`${cloud.origin}/beta/work/events`, cookie);
    await expect.poll(() => Math.min(...readers.map(({ heard }) => heard.length))).toBeGreaterThan(0);

    const created: string[] = [];
    let giving = true;
    const giver = (async () => {
      for (let n = 0; giving; n += 1) {
        // Asked again under the same key until somebody says that it is there.
        for (let id = ''; id === ''; ) {
          const headers = { 'idempotency-key': `task-${n}` };
          const reply = await ada.call('POST', '/beta/work', { body: {}, headers }).catch(() => null);
          if (reply?.status === 201) id = String(reply.json.id);
          else if (reply?.status === 409) break;
          else await pause(50);
          if (id !== '') created.push(id);
        }
        await pause(30);
      }
    })();

    for (const replica of cloud.replicas) {
      await replica.kill();
      const at = events.newest();
      const all = () => readers.every(({ heard }) => Number(heard.at(-1)?.id) > at);
      await expect.poll(all).toBe(true);
      await replica.start();
    }
    giving = false;
    await giver;
    const last = events.newest();
    for (const { heard, connections } of readers) {
      await expect.poll(() => Number(heard.at(-1)?.id)).toBeGreaterThanOrEqual(last);
      expect(connections()).toBeGreaterThan(1);
      expect(heard.map(({ id }) => Number(id))).toEqual(heard.map((_, index) => Number(heard[0]?.id) + index));
    }
    expect(created.length).toBeGreaterThan(10);
    const told = () => new Set(tasks.heard.map(({ data }) => (JSON.parse(data) as { id: string }).id));
    await expect.poll(() => created.filter((id) => !told().has(id))).toEqual([]);
  }, 180_000);
});
