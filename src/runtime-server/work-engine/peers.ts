/**
 * Programs on this computer that are no bots and still take part: they register under a name, send heartbeats, and get messages with each, which
 * they acknowledge. The registrant speaks for its program; every party may write to it. Owns `engine_peer` and `engine_peer_message`; must not know
 * processes.
 */
import { byName } from '../../contracts/common/by-name.ts';
import { AppError } from '../../contracts/common/errors.ts';
import * as table from '../../contracts/factory/work-engine/peers.ts';
import { defaultPeerSeconds, type Peer, type PeerMessage } from '../../contracts/factory/work-engine/peers.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import type { Tx } from '../../kit/store/store.ts';
import { sha256 } from '../base/actor.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import type { Caller } from '../parties/parties.ts';

/** Programs that one caller speaks for. */
export const maxPeers = 50;
/** Messages that wait for one program, and those that one beat brings. */
const maxWaiting = 200;
const oneBeat = 50;
/** A program that is silent for this long is removed from the list. */
const retentionMs = 24 * 3600 * 1000;

interface PeerRow {
  id: string;
  name: string;
  about: string | null;
  owner: string;
  ttl_seconds: number;
  registered_at: number;
  seen_at: number;
  waiting: number;
}
type Read = Pick<Tx, 'get' | 'all'>;
const columns = `p.*, (SELECT count(*) FROM engine_peer_message m WHERE m.peer_id = p.id) AS waiting`;

export function createPeers({ store, ledger, clock, ids, parties }: EnginePartDeps): EnginePart {
  const alive = (row: PeerRow) => row.seen_at + row.ttl_seconds * 1000 > clock.now();
  const wire = (row: PeerRow): Peer => ({
    id: row.id,
    name: row.name,
    about: row.about,
    owner: parties.name(row.owner),
    live: alive(row),
    ttlSeconds: row.ttl_seconds,
    registeredAt: iso(row.registered_at),
    lastSeenAt: iso(row.seen_at),
    waiting: row.waiting,
  });
  const find = (tx: Read, id: string) => tx.get<PeerRow>(`SELECT ${columns} FROM engine_peer p WHERE id = ?`, id);
  const named = (tx: Read, name: string) =>
    tx.get<PeerRow>(`SELECT ${columns} FROM engine_peer p WHERE name = ?`, name);

  /** The caller's own program of this name, or an expired one; null when the name is free. */
  function claimable(tx: Read, name: string, caller: Caller): PeerRow | null {
    const row = named(tx, name);
    if (row === undefined) {
      const count = tx.get<{ n: number }>('SELECT count(*) AS n FROM engine_peer WHERE owner = ?', caller.id)?.n ?? 0;
      if (count < maxPeers) return null;
      const fact = `${caller.name} has already registered ${count} programs.`;
      throw new AppError('refused', fact, 'Remove some first.', { status: 409 });
    }
    if (row.owner === caller.id || !alive(row)) return row;
    const fact = `The name ${name} is registered by ${parties.name(row.owner)}, last seen ${iso(row.seen_at)}.`;
    throw new AppError('refused', fact, 'Choose another name.', { status: 409 });
  }

  function register(
    tx: Tx,
    body: { name: string; about?: string | undefined; ttlSeconds?: number | undefined },
    caller: Caller,
  ): PeerRow {
    const now = clock.now();
    tx.run('DELETE FROM engine_peer WHERE seen_at <= ?', now - retentionMs);
    const before = claimable(tx, body.name, caller);
    const ttl = body.ttlSeconds ?? defaultPeerSeconds;
    if (before !== null && before.owner === caller.id) {
      tx.run(
        'UPDATE engine_peer SET about = ?, ttl_seconds = ?, seen_at = ? WHERE id = ?',
        body.about ?? before.about,
        ttl,
        now,
        before.id,
      );
      return find(tx, before.id) as PeerRow;
    }
    // A name whose owner is gone starts over: waiting messages were not for the new one.
    if (before !== null) tx.run('DELETE FROM engine_peer WHERE id = ?', before.id);
    const id = ids.next('peer');
    tx.run(
      'INSERT INTO engine_peer (id, name, about, owner, ttl_seconds, registered_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      id,
      body.name,
      body.about ?? null,
      caller.id,
      ttl,
      now,
      now,
    );
    ledger.append(tx, {
      type: 'peer.registered',
      ...caller.actor,
      subject: `peer:${id}`,
      body: { v: 1, id, name: body.name, owner: caller.id },
    });
    return find(tx, id) as PeerRow;
  }

  function beat(tx: Tx, id: string, ack: string | undefined): { peer: Peer; messages: PeerMessage[] } {
    tx.run('UPDATE engine_peer SET seen_at = ? WHERE id = ?', clock.now(), id);
    // Only an id that waits acknowledges: any other text, and one acknowledged before, changes nothing.
    const known = 'SELECT 1 FROM engine_peer_message WHERE peer_id = ? AND id = ?';
    if (ack !== undefined && tx.get(known, id, ack) !== undefined) {
      tx.run('DELETE FROM engine_peer_message WHERE peer_id = ? AND id <= ?', id, ack);
    }
    const rows = tx.all<{ id: string; sender: string; text: string; at: number }>(
      'SELECT id, sender, text, at FROM engine_peer_message WHERE peer_id = ? ORDER BY id LIMIT ?',
      id,
      oneBeat,
    );
    const messages = rows.map((row) => ({
      id: row.id,
      from: parties.name(row.sender),
      text: row.text,
      at: iso(row.at),
    }));
    return { peer: wire(find(tx, id) as PeerRow), messages };
  }

  function takes(tx: Read, id: string): PeerRow {
    const row = find(tx, id) as PeerRow;
    const refuse = (fact: string, action: string) => new AppError('refused', fact, action, { status: 409 });
    if (!alive(row)) {
      throw refuse(`${row.name} was last seen ${iso(row.seen_at)}.`, 'Start the program, then send again.');
    }
    if (row.waiting < maxWaiting) return row;
    throw refuse(`${row.waiting} messages wait for ${row.name}.`, 'Wait until it has taken some.');
  }

  function send(tx: Tx, peerId: string, text: string, caller: Caller) {
    const { name } = takes(tx, peerId);
    const id = ids.next('message');
    const at = clock.now();
    tx.run(
      'INSERT INTO engine_peer_message (id, peer_id, sender, text, at) VALUES (?, ?, ?, ?, ?)',
      id,
      peerId,
      caller.id,
      text,
      at,
    );
    const body = { v: 1, id, peerId, textSha256: sha256(text) };
    ledger.append(tx, { type: 'peer.message', ...caller.actor, subject: `peer:${peerId}`, body });
    return { id, to: name, at: iso(at) };
  }

  return {
    owners: {
      peer: (_, id) => store.read((tx) => find(tx, id) !== undefined),
      ownPeer: async ({ agentId }, id) => {
        const row = await store.read((tx) => find(tx, id));
        return row !== undefined && (agentId === undefined || row.owner === agentId);
      },
    },
    routes: [
      bind(table.listPeers, async () => {
        const rows = await store.read((tx) => tx.all<PeerRow>(`SELECT ${columns} FROM engine_peer p`));
        const peers = rows.map(wire).sort((a, b) => byName(a.name, b.name));
        return { body: { peers: [...peers.filter((one) => one.live), ...peers.filter((one) => !one.live)] } };
      }),
      bind(table.registerPeer, async ({ body, principal }) => {
        const caller = parties.caller(principal);
        if (body.dryRun !== true) {
          return { status: 201 as const, body: wire(await store.write((tx) => register(tx, body, caller))) };
        }
        const before = await store.read((tx) => claimable(tx, body.name, caller));
        const records = before?.owner === caller.id ? [] : ['peer.registered'];
        return {
          status: 200 as const,
          body: { dryRun: true as const, plan: { name: body.name, owner: caller.name, records } },
        };
      }),
      bind(table.beatPeer, async ({ params, body }) => ({
        body: await store.write((tx) => beat(tx, params.id, body.ack)),
      })),
      bind(table.sendToPeer, async ({ params, body, principal }) => {
        const caller = parties.caller(principal);
        if (body.dryRun !== true) {
          return { status: 201 as const, body: await store.write((tx) => send(tx, params.id, body.text, caller)) };
        }
        const { name } = await store.read((tx) => takes(tx, params.id));
        return {
          status: 200 as const,
          body: { dryRun: true as const, plan: { to: name, from: caller.name, records: ['peer.message'] } },
        };
      }),
      bind(table.removePeer, async ({ params, query, principal }) => {
        const row = (await store.read((tx) => find(tx, params.id))) as PeerRow;
        if (query.dryRun === true) {
          const plan = { name: row.name, waiting: row.waiting, records: ['peer.removed'] };
          return { body: { dryRun: true as const, plan } };
        }
        const { actor } = parties.caller(principal);
        await store.write((tx) => {
          tx.run('DELETE FROM engine_peer WHERE id = ?', row.id);
          const body = { v: 1, id: row.id, name: row.name };
          ledger.append(tx, { type: 'peer.removed', ...actor, subject: `peer:${row.id}`, body });
        });
        return { body: { removed: wire(row) } };
      }),
    ],
  };
}
