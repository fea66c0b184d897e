/**
 * The key pair that identifies the sender to push services (RFC 8292): made at the first start and sealed, or given by the operator. Its signature
 * for a push service is cached while it is valid. Owns `push_key`; must not know devices.
 */
import { createECDH } from 'node:crypto';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

export interface VapidPair {
  readonly publicKey: string;
  readonly privateKey: string;
}

interface PushKeysDeps {
  readonly store: SharedStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** The operator's own pair; null: one is made and stored. */
  readonly given: VapidPair | null;
  /** Contact for push services: `mailto:…` or `https://…`. */
  readonly subject: string;
  readonly log: { error(message: string, facts?: Record<string, unknown>): void };
}

export interface PushKeys {
  readonly publicKey: string;
  /** The `Authorization` header for the push service of this endpoint. */
  authorization(endpoint: string): Promise<string>;
}

const name = 'vapid';
const place = `push_key|private_key|${name}`;
/** Services refuse more than 24 h; renewed well before it ends. */
const goodForMs = 12 * 60 * 60_000;
const renewedBeforeMs = 60 * 60_000;
/** Push services are few; a person who registers made-up ones must not fill the memory. */
const maxKept = 200;
const privateBytes = 32;

/** Null if the stored pair cannot be opened: a new pair would silently cut off every device. */
export async function createPushKeys(deps: PushKeysDeps): Promise<PushKeys | null> {
  const { clock, subject, log } = deps;
  let pair: VapidPair;
  try {
    pair = deps.given ?? (await storedPair(deps));
  } catch (error) {
    log.error('The push keys cannot be used: nothing is pushed.', { error });
    return null;
  }
  const kept = new Map<string, { header: string; until: number }>();
  return {
    publicKey: pair.publicKey,
    async authorization(endpoint) {
      const { origin } = new URL(endpoint);
      const known = kept.get(origin);
      const now = clock.now();
      if (known !== undefined && known.until - renewedBeforeMs > now) return known.header;
      const until = now + goodForMs;
      const { publicKey, privateKey } = pair;
      const expiry = Math.floor(until / 1000);
      const { default: webpush } = await import('web-push');
      const made = webpush.getVapidHeaders(origin, subject, publicKey, privateKey, 'aes128gcm', expiry);
      if (kept.size >= maxKept) kept.clear();
      kept.set(origin, { header: made.Authorization, until });
      return made.Authorization;
    },
  };
}

async function storedPair({ store, sealer, clock }: PushKeysDeps): Promise<VapidPair> {
  const made = newPair();
  const row = await store.write(function* (tx) {
    const sql = `INSERT INTO push_key (name, public_key, private_key, made_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (name) DO NOTHING`;
    yield* tx.run(sql, name, made.publicKey, sealer.seal(place, made.privateKey), clock.now());
    return (yield* tx.get<{ public_key: string; private_key: string }>('SELECT * FROM push_key WHERE name = ?', name))!;
  });
  return { publicKey: row.public_key, privateKey: sealer.open(place, row.private_key) };
}

function newPair(): VapidPair {
  const keys = createECDH('prime256v1');
  const publicKey = keys.generateKeys('base64url');
  // The library omits leading zeros, and the format requires them.
  const privateKey = Buffer.concat([Buffer.alloc(privateBytes), keys.getPrivateKey()]).subarray(-privateBytes);
  return { publicKey, privateKey: privateKey.toString('base64url') };
}
