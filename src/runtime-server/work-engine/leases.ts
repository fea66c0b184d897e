/**
 * Exclusive claims on a path of the workspace or on a name, for a while. They are advisory: cooperating programs ask first, and attach the fence to
 * their writes, by which a later claim recognises a late write. Owns `engine_lease`; must not know files.
 */
import { relative, resolve, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import * as table from '../../contracts/factory/work-engine/leases.ts';
import { defaultLeaseSeconds, type Lease, type LeaseRequest } from '../../contracts/factory/work-engine/leases.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import type { Caller } from '../parties/parties.ts';

/** One holder's claims at a time. */
const maxLeases = 200;

interface LeaseRow {
  fence: number;
  id: string;
  kind: Lease['kind'];
  key: string;
  holder: string;
  note: string | null;
  claimed_at: number;
  expires_at: number;
}
type Read = Pick<Tx, 'get' | 'all'>;
type Claim = Pick<LeaseRow, 'kind' | 'key'>;

/** How many leases have not ended. */
export function liveLeases(tx: Read, workspace: string, now: number): number {
  const sql = 'SELECT count(*) AS n FROM engine_lease WHERE workspace = ? AND expires_at > ?';
  return tx.get<{ n: number }>(sql, workspace, now)?.n ?? 0;
}

export function createLeases({ store, ledger, clock, ids, workspace, parties }: EnginePartDeps): EnginePart {
  const wire = (row: LeaseRow): Lease => ({
    id: row.id,
    kind: row.kind,
    key: row.key,
    holder: parties.name(row.holder),
    note: row.note,
    fence: row.fence,
    claimedAt: iso(row.claimed_at),
    expiresAt: iso(row.expires_at),
  });
  const live = (tx: Read) =>
    tx.all<LeaseRow>(
      'SELECT * FROM engine_lease WHERE workspace = ? AND expires_at > ? ORDER BY key, kind',
      workspace,
      clock.now(),
    );
  const find = (tx: Read, id: string) =>
    tx.get<LeaseRow>('SELECT * FROM engine_lease WHERE workspace = ? AND id = ?', workspace, id);

  function claimOf(request: LeaseRequest): Claim {
    if (request.name !== undefined) return { kind: 'name', key: request.name };
    const inside = relative(workspace, resolve(workspace, request.path ?? ''));
    const key = inside.split(sep).join('/');
    if (key !== '..' && !key.startsWith('../')) return { kind: 'path', key: key === '' ? '.' : key };
    throw new AppError('usage', `${request.path} is outside the workspace.`, 'Claim it by name instead.');
  }

  /** The caller's own lease on exactly this, or null. 409 names the holder, or the lease that contains it. */
  function admit(tx: Read, claim: Claim, caller: Caller): LeaseRow | null {
    const all = live(tx);
    const held = all.find((row) => row.kind === claim.kind && row.holder !== caller.id && overlaps(row.key, claim));
    if (held !== undefined) {
      const what = held.key === claim.key ? held.key : `${claim.key} overlaps ${held.key}, which`;
      const why = held.note === null ? '' : ` (${held.note})`;
      throw new AppError(
        'refused',
        `${what} is held by ${parties.name(held.holder)} until ${iso(held.expires_at)}${why}.`,
        'Wait until then, or ask the holder to release it.',
        { status: 409, extra: { lease: wire(held) } },
      );
    }
    const own = all.find((row) => row.kind === claim.kind && row.key === claim.key);
    if (own !== undefined) return own;
    const count = all.filter((row) => row.holder === caller.id).length;
    if (count < maxLeases) return null;
    throw new AppError('refused', `${caller.name} holds ${count} leases.`, 'Release some first.', { status: 409 });
  }

  function extend(tx: Tx, row: LeaseRow, seconds: number, note: string | null): LeaseRow {
    const expiresAt = clock.now() + seconds * 1000;
    tx.run('UPDATE engine_lease SET expires_at = ?, note = ? WHERE id = ?', expiresAt, note, row.id);
    return { ...row, expires_at: expiresAt, note };
  }

  function insert(tx: Tx, claim: Claim, request: LeaseRequest, caller: Caller): LeaseRow {
    const now = clock.now();
    tx.run('DELETE FROM engine_lease WHERE expires_at <= ?', now);
    const id = ids.next('lease');
    tx.run(
      `INSERT INTO engine_lease (id, workspace, kind, key, holder, note, claimed_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      workspace,
      claim.kind,
      claim.key,
      caller.id,
      request.note ?? null,
      now,
      now + (request.ttlSeconds ?? defaultLeaseSeconds) * 1000,
    );
    const row = find(tx, id) as LeaseRow;
    ledger.append(tx, {
      type: 'lease.claimed',
      ...caller.actor,
      subject: `lease:${id}`,
      body: { v: 1, id, ...claim, fence: row.fence, expiresAt: iso(row.expires_at) },
    });
    return row;
  }

  /** The holder; the person may end anybody's lease. */
  function allow(row: LeaseRow, caller: Caller): void {
    if (caller.bot === null || row.holder === caller.id) return;
    throw new AppError(
      'refused',
      `${row.key} is held by ${parties.name(row.holder)}.`,
      'Ask the holder, or the person.',
    );
  }

  const plan = (row: Claim, holder: string, ttlSeconds: number, records: string[]) => ({
    dryRun: true as const,
    plan: { kind: row.kind, key: row.key, holder, ttlSeconds, records },
  });

  return {
    owners: { lease: (_, id) => store.read((tx) => find(tx, id) !== undefined) },
    routes: [
      bind(table.listLeases, async ({ query }) => {
        const rows = await store.read(live);
        const holder = query.holder === undefined ? undefined : parties.find(query.holder);
        return { body: { leases: rows.filter((row) => holder === undefined || row.holder === holder).map(wire) } };
      }),
      bind(table.claimLease, async ({ body, principal }) => {
        const caller = parties.caller(principal);
        const claim = claimOf(body);
        const seconds = body.ttlSeconds ?? defaultLeaseSeconds;
        if (body.dryRun === true) {
          const own = await store.read((tx) => admit(tx, claim, caller));
          return {
            status: 200 as const,
            body: plan(claim, caller.name, seconds, own === null ? ['lease.claimed'] : []),
          };
        }
        return store.write((tx) => {
          const own = admit(tx, claim, caller);
          if (own === null) return { status: 201 as const, body: wire(insert(tx, claim, body, caller)) };
          return { status: 200 as const, body: wire(extend(tx, own, seconds, body.note ?? own.note)) };
        });
      }),
      bind(table.renewLease, async ({ params, body, principal }) => {
        const caller = parties.caller(principal);
        const seconds = body.ttlSeconds ?? defaultLeaseSeconds;
        const held = (tx: Read) => {
          const row = find(tx, params.id) as LeaseRow;
          allow(row, caller);
          if (row.expires_at > clock.now()) return row;
          const fact = `The lease on ${row.key} ran out at ${iso(row.expires_at)}.`;
          throw new AppError('refused', fact, 'Claim it again: others may have had it since.', { status: 409 });
        };
        if (body.dryRun !== true) {
          return {
            body: wire(
              await store.write((tx) => {
                const row = held(tx);
                return extend(tx, row, seconds, row.note);
              }),
            ),
          };
        }
        const row = await store.read(held);
        return { body: plan(row, parties.name(row.holder), seconds, []) };
      }),
      bind(table.releaseLease, async ({ params, query, principal }) => {
        const caller = parties.caller(principal);
        const found = (tx: Read) => {
          const row = find(tx, params.id) as LeaseRow;
          allow(row, caller);
          return row;
        };
        if (query.dryRun === true) {
          const row = await store.read(found);
          return { body: plan(row, parties.name(row.holder), 0, ['lease.released']) };
        }
        return {
          body: {
            released: await store.write((tx) => {
              caller.actor.report?.take(tx);
              const row = found(tx);
              tx.run('DELETE FROM engine_lease WHERE id = ?', row.id);
              const { id, kind, key, fence } = row;
              const body = { v: 1, id, kind, key, fence };
              ledger.append(tx, { type: 'lease.released', ...caller.actor, subject: `lease:${id}`, body });
              return wire(row);
            }),
          },
        };
      }),
    ],
  };
}

/** A folder includes everything in it; a name covers only itself. */
function overlaps(held: string, { kind, key }: Claim): boolean {
  if (held === key) return true;
  if (kind === 'name') return false;
  const holds = (folder: string, path: string) => folder === '.' || path.startsWith(`${folder}/`);
  return holds(held, key) || holds(key, held);
}
