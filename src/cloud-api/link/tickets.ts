/**
 * The tokens that the cloud signs for computers: peer tickets, by which one computer lets in a person whom the cloud knows, and device access tokens,
 * for the few routes of a device that cannot be signed. Owns the key pair, sealed. Must not know what a ticket opens.
 */
import type { IncomingMessage } from 'node:http';
import { exportJWK, generateKeyPair, importJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import { AppError } from '../../contracts/common/errors.ts';
import type { Scope } from '../../contracts/common/route.ts';
import { TicketKey } from '../../contracts/link/pairings.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { bearerOf } from '../../kit/http/principals.ts';
import type { Authenticator, Principal } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import {
  peerTicketType,
  ticketAlgorithm,
  ticketAudience,
  ticketLifeS,
  ticketToleranceS,
} from '../../kit/signing/peer-ticket.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

interface TicketsDeps {
  readonly store: SharedStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Address of this cloud, the issuer. */
  readonly issuer: string;
}

export interface Tickets {
  /** For one call to that computer as that person. */
  mintTicket(computerId: string, userId: string): Promise<string>;
  mintDeviceToken(computerId: string, userId: string): Promise<{ token: string; expiresAt: number }>;
  /** The keys with which computers check tickets. */
  readonly keys: readonly TicketKey[];
  /** Device access tokens, only on the routes of computers. `paired`: the person who has the computer now. */
  authenticator(paired: (computerId: string) => Promise<string | null>): Authenticator;
}

const deviceTokenType = 'device-access+jwt';
/** Of the routes below, devices may use only those of peers; they ask for these. */
const deviceScopes: ReadonlySet<Scope> = new Set(['agents:read', 'bots:act']);
/** The list itself, so that a computer can be called by its name, and the paths to one. */
const deviceRoutes = '/api/v1/computers';

export async function createTickets(deps: TicketsDeps): Promise<Tickets> {
  const { clock, ids, issuer } = deps;
  const { kid, publicJwk, privateJwk } = await ensureKey(deps);
  const [signer, verifier] = await Promise.all([importJWK(privateJwk, 'EdDSA'), importJWK(publicJwk, 'EdDSA')]);

  async function mint(typ: string, audience: string, userId: string, claims: Record<string, string>) {
    const now = Math.floor(clock.now() / 1000);
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ticketAlgorithm, typ, kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(userId)
      .setJti(ids.next('jti'))
      .setIssuedAt(now)
      .setExpirationTime(now + ticketLifeS)
      .sign(signer);
    return { token, expiresAt: (now + ticketLifeS) * 1000 };
  }

  async function verify(token: string, paired: (computerId: string) => Promise<string | null>): Promise<Principal> {
    try {
      const { payload } = await jwtVerify(token, verifier, {
        algorithms: [ticketAlgorithm],
        typ: deviceTokenType,
        issuer,
        audience: issuer,
        requiredClaims: ['sub', 'iat', 'exp', 'computer'],
        maxTokenAge: ticketLifeS,
        clockTolerance: ticketToleranceS,
        currentDate: new Date(clock.now()),
      });
      const computerId = String(payload.computer);
      const userId = payload.sub ?? '';
      if ((await paired(computerId)) !== userId) throw new Error('The computer is not paired any more.');
      return { kind: 'device', userId, scopes: deviceScopes, via: 'device-token', computerId };
    } catch (cause) {
      throw new AppError('refused', 'The device token is not valid here.', 'Ask for a new one.', {
        status: 401,
        wireCode: 'unauthorized',
        cause,
      });
    }
  }

  return {
    keys: [TicketKey.parse({ ...publicJwk, kid, alg: ticketAlgorithm, use: 'sig' })],
    mintTicket: async (computerId, userId) =>
      (await mint(peerTicketType, ticketAudience(computerId), userId, {})).token,
    mintDeviceToken: (computerId, userId) => mint(deviceTokenType, issuer, userId, { computer: computerId }),
    authenticator: (paired) => ({
      name: 'device-token',
      authenticate(request) {
        const token = bearerOf(request);
        return token === null || !isFor(request) || !looksLikeOurs(token) ? null : verify(token, paired);
      },
    }),
  };
}

const isFor = ({ url }: IncomingMessage) => url?.startsWith(deviceRoutes) === true;

/** Decided by its header: tokens of other issuers are for other authenticators. */
function looksLikeOurs(token: string): boolean {
  try {
    const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8')) as {
      typ?: unknown;
    };
    return header.typ === deviceTokenType;
  } catch {
    return false;
  }
}

interface KeyRow {
  readonly kid: string;
  readonly public: string;
  readonly private: string;
}

interface KeyPair {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
}

/** The newest key that opens. If none does, as after the master key is gone, a new key is made and every computer must pair again. */
async function ensureKey({ store, sealer, clock, ids }: TicketsDeps): Promise<KeyPair> {
  const place = (kid: string) => `ticket_key|private|${kid}`;
  const open = (row: KeyRow): KeyPair[] => {
    try {
      const privateJwk = JSON.parse(sealer.open(place(row.kid), row.private)) as JWK;
      return [{ kid: row.kid, publicJwk: JSON.parse(row.public) as JWK, privateJwk }];
    } catch {
      // Sealed under another master key.
      return [];
    }
  };
  const select = 'SELECT kid, public, private FROM ticket_key ORDER BY made_at DESC, kid DESC';
  const [known] = (await store.all<KeyRow>(select)).flatMap(open);
  if (known !== undefined) return known;
  const kid = ids.next('key');
  const { publicKey, privateKey } = await generateKeyPair(ticketAlgorithm, { extractable: true, crv: 'Ed25519' });
  const [publicJwk, privateJwk] = await Promise.all([exportJWK(publicKey), exportJWK(privateKey)]);
  const sealed = sealer.seal(place(kid), JSON.stringify(privateJwk));
  return store.write(function* (tx) {
    // Replicas that start together all sign with the key of the first.
    const [first] = (yield* tx.all<KeyRow>(select)).flatMap(open);
    if (first !== undefined) return first;
    const sql = 'INSERT INTO ticket_key (kid, public, private, made_at) VALUES (?, ?, ?, ?)';
    yield* tx.run(sql, kid, JSON.stringify(publicJwk), sealed, clock.now());
    return { kid, publicJwk, privateJwk };
  });
}
