// Runs apart: it kills servers and waits for their leases by real time.
/** Three replicas of one cloud: whichever is asked, a computer is reached by the one that holds its link. */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pipeHeaders, prove } from '../../src/cloud-api/link/replica-proof.ts';
import { signedHeaders } from '../../src/kit/signing/signature.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { freePort } from '../support/free-port.ts';
import { postgres } from '../support/postgres.ts';
import {
  type Cluster,
  type ClusterPerson,
  computerOf,
  personIn,
  startCluster,
  streamAt,
  type TestComputer,
  untilEverywhere,
} from './replicas-support.ts';

const stop = keepUntilEnd();
const large = randomBytes(8 * 1024 * 1024).toString('base64');

describe.skipIf(postgres === null)('on PostgreSQL', () => {
  let cluster: Cluster;
  let ada: ClusterPerson;
  let installation: TestComputer;
  /** What the engine of Ada's computer was asked. */
  const asked: { url: string; user: unknown; surface: unknown; body: string }[] = [];
  beforeAll(async () => {
    cluster = await startCluster(3, await postgres!.schema());
    ada = await personIn(cluster, 'ada');
    installation = await computerOf(cluster, ada, 'A', (incoming, response) => {
      if (incoming.url?.endsWith('/events')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\ndata: 1\n\n');
        return;
      }
      if (incoming.url?.includes('large')) {
        response.writeHead(200, { connection: 'close' }).end(large);
        return;
      }
      let body = '';
      incoming.on('data', (part) => {
        body += part;
      });
      incoming.on('end', () => {
        const { url = '', headers } = incoming;
        asked.push({ url, user: headers['x-platform-user-id'], surface: headers['x-gantry-surface'], body });
        response.end(JSON.stringify({ ok: true, agents: [], engine: { running: true, error: null } }));
      });
    });
    await untilEverywhere(ada, installation.id, 'linked');
  }, 60_000);
  afterAll(stop);
  const sql = <T extends object>(text: string) => postgres!.ask<T>(cluster.databaseUrl, text);

  test('a tool is called through each of them, whichever the computer dialled', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'time.now' } };
    for (const post of ada.at) expect((await post('POST', '/mcp/server', { body: call })).status).toBe(200);
    const one = { url: '/mcp/server', user: ada.id, surface: 'browser', body: JSON.stringify(call) };
    expect(asked.splice(0)).toEqual([one, one, one]);
  });

  test('a computer that dialled one of them is reached at each, as its person', async () => {
    for (const call of ada.at) expect((await call('GET', '/api/factory/agents?team=far')).status).toBe(200);
    const one = { url: '/api/factory/agents?team=far', user: ada.id, surface: 'browser', body: '' };
    expect(asked.splice(0)).toEqual([one, one, one]);
    for (const call of ada.at) {
      const reply = await call('POST', '/api/factory/agents/agent_1/input', { body: { text: 'x'.repeat(100_000) } });
      expect(reply.status).toBe(200);
    }
    expect(new Set(asked.splice(0).map(({ body }) => body.length))).toEqual(new Set([100_011]));
  });

  test('an answer arrives whole, however large, also where the connection ends with it', async () => {
    for (const call of ada.at) {
      const { status, text } = await call('GET', '/api/factory/agents?large=1');
      expect([status, text.length, text === large]).toEqual([200, large.length, true]);
    }
  });

  test('nobody else reaches it at any of them', async () => {
    const bob = await personIn(cluster, 'bob');
    for (const call of bob.at) {
      expect((await call('GET', `/api/factory/agents?computer=${installation.id}`)).status).toBe(404);
    }
    expect(asked).toEqual([]);
  });

  test('who acts is never believed from outside, and nobody without the token of the replicas opens a pipe', async () => {
    const [held] = await sql<{ replica: string }>('SELECT replica FROM runtime_connection');
    const path = `/internal/link/${held?.replica}/${installation.id}/engine`;
    const acting = { 'x-platform-user-id': ada.id };
    const forged = (token: string, at = Date.now(), proven = path, number = 'n'.repeat(24)) => {
      const question = { path: proven, at: String(Math.floor(at / 1000)), nonce: number };
      const { at: time, nonce } = question;
      return {
        [pipeHeaders.at]: time,
        [pipeHeaders.nonce]: nonce,
        [pipeHeaders.proof]: prove(token, 'asks', question),
      };
    };
    for (const call of ada.at) {
      expect((await call('GET', '/api/factory/agents', { headers: { 'x-platform-user-id': 'user_b' } })).status).toBe(
        403,
      );
    }
    for (const { here, port, internalToken } of cluster.replicas) {
      expect((await here('GET', '/api/factory/agents', { headers: acting })).status).toBe(401);
      expect((await here('GET', path, { headers: acting })).status).toBe(404);
      for (const headers of [
        acting,
        { ...acting, authorization: `Bearer ${internalToken}` },
        forged('another token'),
        forged(internalToken, Date.now() - 120_000),
        forged(internalToken, Date.now(), `${path}x`),
      ]) {
        expect(await upgrade(port, path, headers)).toBe(401);
      }
    }
    // Proven, but asked of one that does not hold it: nothing goes on from there.
    const statuses = await Promise.all(
      cluster.replicas.map(({ port, internalToken }) => upgrade(port, path, forged(internalToken))),
    );
    expect(statuses.toSorted()).toEqual([101, 503, 503]);
    // Nor does whoever has read one on its way.
    const holder = cluster.replicas[statuses.indexOf(101)]!;
    const read = forged(holder.internalToken, Date.now(), path, 'r'.repeat(24));
    expect(await upgrade(holder.port, path, read)).toBe(101);
    expect(await upgrade(holder.port, path, read)).toBe(401);
    expect(asked).toEqual([]);
  });

  test('a stream runs through another replica, and breaks there when the link does', async () => {
    const readers = await Promise.all(
      [0, 1, 2].map((at) => streamAt(cluster, at, '/api/factory/events', { cookie: ada.cookie })),
    );
    for (const reader of readers) {
      expect(reader.status).toBe(200);
      await expect.poll(reader.text).toContain('data: 1');
    }
    await installation.dialer.stop(0);
    expect(await Promise.all(readers.map(({ ended }) => ended))).toEqual(['cut', 'cut', 'cut']);
    installation.dialer.start();
    await untilEverywhere(ada, installation.id, 'linked');
  });

  test('of a computer that is away each replica says since when, and finds it where it comes back', async () => {
    await installation.dialer.stop(0);
    await untilEverywhere(ada, installation.id, 'away');
    for (const call of ada.at) {
      for (const method of ['GET', 'POST'] as const) {
        const path = method === 'GET' ? '/api/factory/agents' : '/api/factory/agents/agent_1/input';
        const reply = await call(method, path, method === 'POST' ? { body: { text: 'x' } } : {});
        expect([reply.status, reply.json.error.code]).toEqual([502, 'transport']);
        expect(String(reply.json.error.fact)).toMatch(/since 20\d\d-/);
      }
    }
    cluster.lead(1);
    installation.dialer.start();
    await untilEverywhere(ada, installation.id, 'linked');
    for (const call of ada.at) expect((await call('GET', '/api/factory/agents')).status).toBe(200);
    asked.length = 0;
  });

  test('an answer that waits for a computer reaches it once, wherever it was given and wherever the computer comes back', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const report = {
      kind: 'tool_call',
      title: 'Push',
      summary: 'git push',
      risk: 'high',
      source: 'gate',
      agentId: 'agent_1',
      requestedAt: at(0),
      expiresAt: at(60_000),
      engineId: 'engine_1',
      ledgerId: '42',
    };
    const [method, path, body] = [
      'PUT',
      `/api/v1/runtime/approvals/apr_${'1'.repeat(26)}`,
      JSON.stringify(report),
    ] as const;
    const headers = signedHeaders(
      { runtimeId: installation.id, key: installation.key, now: Date.now },
      { method, path, body },
    );
    const put = await cluster.replicas[0]!.here(method, path, { raw: body, headers });
    expect([put.status, put.text]).toEqual([200, expect.any(String)]);
    await installation.dialer.stop(0);
    await untilEverywhere(ada, installation.id, 'away');
    const resolve = `/api/factory/approvals/apr_${'1'.repeat(26)}/resolve`;
    const answers = await Promise.all(ada.at.map((call) => call('POST', resolve, { body: { decision: 'approve' } })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    cluster.lead(2);
    installation.dialer.start();
    const brought = () => asked.filter(({ url }) => url.includes('approval'));
    await expect.poll(brought).toHaveLength(1);
    await untilEverywhere(ada, installation.id, 'linked');
    const left = () => sql("SELECT 1 FROM lane_item WHERE lanes = 'answers'");
    await expect.poll(left).toEqual([]);
    expect(brought()).toHaveLength(1);
    asked.length = 0;
  });

  test('a newer connection at another replica takes over, and the older one is let go and holds nothing', async () => {
    const rows = () => sql<{ replica: string; epoch: string }>('SELECT replica, epoch FROM runtime_connection');
    const [before] = await rows();
    cluster.lead(0);
    // The same computer a second time, as after its data folder was copied: both hold for a moment.
    const twin = installation.twin();
    await expect.poll(async () => (await rows())[0]?.replica).not.toBe(before?.replica);
    await expect.poll(() => installation.dialer.state().linked).toBe(false);
    expect(installation.dialer.state().problem).toBe('Another connection of this computer took its place.');
    await installation.dialer.stop(0);
    const after = await rows();
    expect(after).toHaveLength(1);
    expect(Number(after[0]?.epoch)).toBeGreaterThan(Number(before?.epoch));
    for (const call of ada.at) expect((await call('GET', '/api/factory/agents')).status).toBe(200);
    await twin.stop(0);
    installation.dialer.start();
    await untilEverywhere(ada, installation.id, 'linked');
  });

  describe('of a replica that is gone while its rows still name it', () => {
    let lost: TestComputer;
    let credential = '';
    beforeAll(async () => {
      lost = await computerOf(cluster, ada, 'B', (_incoming, response) => response.end('{}'));
      await untilEverywhere(ada, lost.id, 'linked');
      const held = `SELECT credential FROM runtime_connection WHERE computer_id = '${lost.id}'`;
      credential = (await sql<{ credential: string }>(held))[0]?.credential ?? '';
      await lost.dialer.stop(0);
      await untilEverywhere(ada, lost.id, 'away');
    });
    /** As it stood there when it was last heard of. */
    const leave = async (name: string, port: number) => {
      const now = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)';
      await sql(`INSERT INTO cloud_replica VALUES ('${name}', 'http://127.0.0.1:${port}', ${now})`);
      await sql(`INSERT INTO runtime_connection VALUES ('${lost.id}', '${name}', 1, '${credential}', ${now})
        ON CONFLICT (computer_id) DO UPDATE SET replica = excluded.replica`);
    };
    const ask = async (at: number) => {
      const { status, json } = await ada.at[at]!('GET', `/api/factory/agents?computer=${lost.id}`);
      return [status, json.error.code, String(json.error.fact).includes(' since 20')];
    };

    test('nobody answers there: the computer is away', async () => {
      await leave('replica_gone', await freePort());
      expect(await ask(0)).toEqual([502, 'transport', true]);
    });

    test.each([
      ['says nothing', () => {}],
      [
        'takes it on without a proof',
        (socket: Socket) => void socket.write('HTTP/1.1 101 x\r\nconnection: Upgrade\r\nupgrade: gantry-pipe\r\n\r\n'),
      ],
      [
        'says that all is well',
        (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
      ],
    ])('somebody else listens there and %s: it learns no secret', async (_what, answer) => {
      let got = '';
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        sockets.push(socket);
        socket.on('error', () => {});
        socket.on('data', (part) => {
          got += String(part);
          answer(socket);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      await leave(`replica_${sockets.length}${_what.length}`, (server.address() as AddressInfo).port);
      expect(await ask(1)).toEqual([502, 'transport', true]);
      expect(got).toContain('/internal/link/');
      expect(got).not.toContain(cluster.replicas[0]!.internalToken);
      expect(got.match(/HTTP\/1\.1/g)).toHaveLength(1);
      for (const socket of sockets) socket.destroy();
      server.close();
    });

    test('another replica has its address by now, or the row was copied from another computer: nothing is asked there', async () => {
      const [live] = cluster.replicas;
      await leave('replica_before', live!.port);
      expect(await ask(1)).toEqual([502, 'transport', true]);
      const named = await sql<{ replica: string }>('SELECT replica FROM runtime_connection ORDER BY computer_id');
      await sql(`UPDATE runtime_connection SET replica = '${named[0]?.replica}',
        credential = (SELECT credential FROM runtime_connection WHERE computer_id = '${installation.id}')
        WHERE computer_id = '${lost.id}'`);
      expect((await Promise.all([0, 1, 2].map(ask))).map(([status]) => status)).toEqual([502, 502, 502]);
    });

    test('the computer is there again once it dials another one', async () => {
      lost.dialer.start();
      await untilEverywhere(ada, lost.id, 'linked');
      await lost.dialer.stop(0);
    });
  });

  describe('what ends at one is cut at the others', () => {
    const everywhere = async (
      credential: { cookie?: string; authorization?: string },
      path = '/api/factory/events',
    ) => {
      const readers = await Promise.all([0, 1, 2].map((at) => streamAt(cluster, at, path, credential)));
      expect(readers.map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const reader of readers) await expect.poll(reader.text).toContain('data: 1');
      return { ended: Promise.all(readers.map(({ ended }) => ended)) };
    };
    const cut = ['cut', 'cut', 'cut'];

    test('streams of a browser that is signed out', async () => {
      const other = await personIn(cluster, 'ada');
      const { ended } = await everywhere({ cookie: other.cookie });
      expect((await other.at[1]?.('DELETE', '/api/v1/session'))?.status).toBe(204);
      expect(await ended).toEqual(cut);
    });

    test('streams of a key that is revoked', async () => {
      const made = await ada.at[0]!('POST', '/api/v1/keys', { body: { name: 'ci', scopes: ['agents:read'] } });
      const { key, secret } = made.json as never as { key: { id: string }; secret: string };
      const { ended } = await everywhere({ authorization: `Bearer ${secret}` });
      expect((await ada.at[2]?.('DELETE', `/api/v1/keys/${key.id}`))?.status).toBe(204);
      expect(await ended).toEqual(cut);
    });

    test('the link of a computer that is revoked, and the streams that it reads; a new pairing stays', async () => {
      cluster.lead(1);
      const lost = await computerOf(cluster, ada, 'C', (_incoming, response) => response.end('{}'));
      await untilEverywhere(ada, lost.id, 'linked');
      const [method, path, body] = ['POST', '/api/v1/runtime/tokens', '{}'] as const;
      const headers = signedHeaders({ runtimeId: lost.id, key: lost.key, now: Date.now }, { method, path, body });
      const minted = await cluster.replicas[0]!.here(method, path, { raw: body, headers });
      const { token } = minted.json as never as { token: string };
      const { ended } = await everywhere(
        { authorization: `Bearer ${token}` },
        `/api/v1/computers/${installation.id}/factory-peer/events`,
      );
      const gone = new Promise<void>((resolve) => void lost.dialer.onChange((linked) => !linked && resolve()));
      expect((await ada.at[2]?.('DELETE', `/api/v1/computers/${lost.id}`))?.status).toBe(204);
      await gone;
      expect(lost.dialer.state().problem).toBe('Its pairing was ended.');
      expect(await ended).toEqual(cut);
      await lost.dialer.stop(0);
      const again = await computerOf(cluster, ada, 'C', (_incoming, response) => response.end('{}'));
      let cuts = 0;
      again.dialer.onChange((linked) => {
        if (!linked) cuts += 1;
      });
      await untilEverywhere(ada, again.id, 'linked');
      // Nothing may happen: the end of the former pairing reaches the other replicas within a second, and must not cut the new one.
      await pause(1500);
      expect(cuts).toBe(0);
      await again.dialer.stop(0);
    });

    test('everything of a person who is shut out, until they are let in again', async () => {
      const cid = await personIn(cluster, 'cid');
      cluster.lead(2);
      const theirs = await computerOf(cluster, cid, 'D', (_incoming, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      });
      await untilEverywhere(cid, theirs.id, 'linked');
      const { ended } = await everywhere({ cookie: cid.cookie });
      const gone = new Promise<void>((resolve) => void theirs.dialer.onChange((linked) => !linked && resolve()));
      const [first] = cluster.replicas;
      const change = (disabled: boolean) =>
        first!.here('PATCH', `/api/v1/admin/users/${cid.id}`, { token: first!.internalToken, body: { disabled } });
      expect((await change(true)).status).toBe(200);
      expect(await ended).toEqual(cut);
      await gone;
      expect((await change(false)).status).toBe(200);
      await untilEverywhere(cid, theirs.id, 'linked');
      await theirs.dialer.stop(0);
    });
  });

  test('who guesses credentials is held up everywhere, wherever they guessed', async () => {
    const guess = async (at: number) =>
      (await cluster.replicas[at % 3]!.here('GET', '/api/v1/session', { token: 'junk' })).status;
    for (let n = 0; n < 20; n += 1) expect(await guess(n)).toBe(401);
    expect([await guess(0), await guess(1), await guess(2)]).toEqual([429, 429, 429]);
  });
});

/** The status of the answer; what was opened is closed again. */
function upgrade(port: number, path: string, more: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { ...more, connection: 'Upgrade', upgrade: 'gantry-pipe' };
    const asking = request({ host: '127.0.0.1', port, path, headers, agent: false });
    asking.once('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asking.once('upgrade', (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode ?? 0);
    });
    asking.once('error', reject);
    asking.end();
  });
}
