/**
 * Authenticates the device that signed a request. The raw body is read here, before anything parses it, and kept for the dispatcher. A signature is
 * accepted once: it is stored durably before its request has any effect, so that a crash opens no window; a caller that got no answer signs again.
 * First user: the cloud API; second: the runtime. Must not know routes.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { Scope } from '../../contracts/common/route.ts';
import type { Clock } from '../clock/clock.ts';
import { readRaw } from '../http/body.ts';
import type { Authenticator } from '../http/types.ts';
import type { SharedStore } from '../store/shared-store.ts';
import type { Migration } from '../store/store.ts';
import { checkSignedPath, signatureHeaders, signatureMatches, signatureWindowS, signingKey } from './signature.ts';

export interface KnownDevice {
  readonly userId: string;
  /** The key it signs with; during a rotation also the new one and the one before. */
  readonly keys: readonly string[];
}

export const signingMigrations: readonly Migration[] = [
  {
    area: 'signing',
    number: 1,
    name: 'signatures that were taken',
    sql: `
      CREATE TABLE signature_seen (
        runtime_id TEXT NOT NULL,
        signature TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (runtime_id, signature)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX signature_seen_until ON signature_seen (until);
    `,
  },
];

/** Routes have their own limits; no route for devices has a larger one. Bytes. */
const largestSigned = 4 * 1024 * 1024;
/** After the window on both sides nothing can be replayed (seconds beyond the signature's own time). */
const retentionS = 2 * signatureWindowS;
/** A key of nobody, so that an unknown id takes as long as a known one. */
const nobody: KnownDevice = { userId: '', keys: [signingKey('nobody')] };
/** A computer acts for its bots and runs on routes that name devices and also require these scopes of keys; no other route requires a scope of a device. */
const itsScopes: ReadonlySet<Scope> = new Set<Scope>(['compute', 'work']);

export function createDeviceAuthenticator({
  store,
  clock,
  find,
  used,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  /** Called with the key that signed, once the signature is accepted: a new key may count from its first use. */
  readonly used?: (runtimeId: string, key: string) => Promise<void>;
  /** null: nobody signs with this id. */
  readonly find: (runtimeId: string) => Promise<KnownDevice | null> | KnownDevice | null;
}): Authenticator {
  return {
    name: 'device',
    async authenticate(request) {
      const { id, ts, sig } = headersOf(request);
      if (id === undefined && ts === undefined && sig === undefined) return null;
      if (id === undefined || sig === undefined || ts === undefined || !/^\d{1,12}$/.test(ts)) {
        throw unsigned('The signature of the request is incomplete.', 'Send id, time in seconds and signature.');
      }
      const path = request.url ?? '/';
      checkSignedPath(path);
      if (request.headers['content-encoding'] !== undefined) {
        throw new AppError('usage', 'A signed body may not be encoded.', 'Send it as it is.', {
          wireCode: 'unsupported_media_type',
        });
      }
      const now = Math.floor(clock.now() / 1000);
      if (Math.abs(now - Number(ts)) > signatureWindowS) throw outsideWindow(Number(ts), now);
      const body = await readRaw(request, largestSigned);
      const known = await find(id);
      const signed = { ts, method: request.method ?? '', path, body };
      // Compares each key, so that the time does not reveal which one it was.
      const [key] = (known ?? nobody).keys.filter((each) => signatureMatches(each, signed, sig));
      if (known === null || key === undefined)
        throw unsigned('The signature is not valid here.', 'Sign with the device’s key.');
      if (!(await take(store, id, sig, Number(ts) + retentionS, now))) {
        throw unsigned('The signature has been used already.', 'Sign each request separately.');
      }
      await used?.(id, key);
      return { kind: 'device', userId: known.userId, scopes: itsScopes, via: 'device', computerId: id };
    },
  };
}

function headersOf({ headers }: IncomingMessage): Record<'id' | 'ts' | 'sig', string | undefined> {
  const one = (name: string) => {
    const value = headers[name];
    return value === undefined ? undefined : String(value);
  };
  return { id: one(signatureHeaders.id), ts: one(signatureHeaders.ts), sig: one(signatureHeaders.sig) };
}

/** False: it was stored before. */
function take(store: SharedStore, id: string, sig: string, until: number, now: number): Promise<boolean> {
  return store.write(
    function* (tx) {
      yield* tx.run('DELETE FROM signature_seen WHERE until < ?', now);
      const sql =
        'INSERT INTO signature_seen (runtime_id, signature, until) VALUES (?, ?, ?) ON CONFLICT (runtime_id, signature) DO NOTHING';
      return (yield* tx.run(sql, id, sig, until)).changes === 1;
    },
    { isolation: 'rows' },
  );
}

function unsigned(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 401, wireCode: 'unauthorized' });
}

/** Includes our time, so that a device whose clock is wrong can correct its next signature. */
function outsideWindow(ts: number, now: number): AppError {
  return new AppError(
    'refused',
    `The signature is from ${new Date(ts * 1000).toISOString()}, ${Math.abs(now - ts)} s away from now.`,
    'Set the clock, or sign with the server’s time.',
    { status: 401, wireCode: 'clock_skew', extra: { serverTime: now } },
  );
}
