/**
 * Pairing by a short code: who may ask, how often a person may mistype, and that a computer's signing token is handed out once. Must not know what a
 * computer does once it is paired.
 */
import { hash, randomInt } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import * as contract from '../../contracts/link/pairings.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Computers, HomeCredentials } from './computers.ts';
import {
  addPairing,
  decidePairing,
  forgetPairings,
  noteTry,
  openPairings,
  type PairingRow,
  pairingOfCode,
  pairingOfDevice,
  takePairing,
  triesSince,
} from './pairings-store.ts';
import type { Tickets } from './tickets.ts';

export interface PairingsDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly computers: Pick<Computers, 'admit' | 'ownerOf'>;
  readonly home: Pick<HomeCredentials, 'begin'>;
  readonly tickets: Pick<Tickets, 'keys'>;
  /** Address of this cloud. */
  readonly origin: string;
  /** False where computers cannot dial in: the server of one computer. */
  readonly open: boolean;
  readonly users: { find(userId: string): Promise<{ readonly id: string; readonly name: string } | null> };
  /** Address of the requesting computer, shown to the person. */
  readonly addressOf: (request: IncomingMessage) => string;
  /** Counts a request of an unknown caller; throws 429. */
  readonly limit: (request: IncomingMessage) => Promise<void>;
  readonly newCode?: () => string;
}

const lifeMs = 10 * 60_000;
const intervalS = 2;
/** Wrong codes of one person within {@link lifeMs}. */
const tries = 5;
/** Keeps strangers from filling the table. */
const maxOpen = 1000;

export function pairingRoutes(deps: PairingsDeps): BoundRoute[] {
  const { begin, poll } = createAsking(deps);
  const { find, decide, shown } = createDeciding(deps);
  return [
    bind(contract.beginPairing, async ({ request, body }) => ({ body: await begin(request, body) })),
    bind(contract.pollPairing, async ({ request, body }) => ({ body: await poll(request, body.deviceCode) })),
    bind(contract.readPairing, async ({ principal, params, request }) => ({
      body: await shown(await find(principal, params.code), principal, request),
    })),
    bind(contract.approvePairing, async ({ principal, params, request }) => ({
      body: await decide(principal, params.code, 'approved', request),
    })),
    bind(contract.denyPairing, async ({ principal, params, request }) => ({
      body: await decide(principal, params.code, 'denied', request),
    })),
  ];
}

/** The computer's side: it asks for a code, then again and again whether a person has decided. */
function createAsking(deps: PairingsDeps) {
  const { store, clock, computers, origin, newCode = randomCode } = deps;
  return { begin, poll };

  async function begin(request: IncomingMessage, asked: { computerId: string; name: string; version: string }) {
    await deps.limit(request);
    if (!deps.open) {
      throw new AppError(
        'refused',
        'This Gantry serves only the computer it runs on.',
        'Pair with a cloud: a server started with gantry cloud.',
        { wireCode: 'no_pairing_here' },
      );
    }
    const now = clock.now();
    const deviceCode = newToken();
    const about = { ...asked, deviceHash: digest(deviceCode), address: deps.addressOf(request), requestedAt: now };
    const code = await store.write(function* (tx) {
      yield* forgetPairings(tx, now);
      if ((yield* openPairings(tx, now)) >= maxOpen) return null;
      for (let left = 5; left > 0; left -= 1) {
        const userCode = newCode();
        if (yield* addPairing(tx, { ...about, userCode, expiresAt: now + lifeMs })) return userCode;
      }
      return null;
    });
    if (code === null) throw tooMany('Too many computers wait to be paired.', 'Try again in a few minutes.', 60);
    const verificationUri = origin + contract.pairPage;
    return {
      deviceCode,
      userCode: dashed(code),
      verificationUri,
      // The person reads the code off the computer and types it: a link that contains the code could come from anybody.
      verificationUriComplete: verificationUri,
      expiresAt: iso(now + lifeMs),
      expiresIn: lifeMs / 1000,
      interval: intervalS,
    };
  }

  async function poll(
    request: IncomingMessage,
    deviceCode: string,
  ): Promise<{ status: 'pending' } | contract.PairingGrant> {
    const row = await store.read((tx) => pairingOfDevice(tx, digest(deviceCode)));
    if (row === null) await deps.limit(request);
    if (row === null) throw over('pairing_expired', 'There is no longer a pairing with this code.');
    const late = row.expiresAt <= clock.now();
    if (row.state === 'denied') throw over('pairing_denied', `The pairing of ${row.name} was rejected.`);
    if (row.state === 'taken') throw over('pairing_taken', 'The credential of this computer was already handed out.');
    if (late) throw over('pairing_expired', `The code expired at ${iso(row.expiresAt)}.`);
    if (row.state === 'pending') return { status: 'pending' };
    return grant(row, row.userId!);
  }

  /** Once: a second request finds it taken, even if the first answer was lost on its way. */
  async function grant(row: PairingRow, userId: string): Promise<contract.PairingGrant> {
    const user = await deps.users.find(userId);
    if (user === null) throw over('pairing_denied', 'The person who approved it no longer has an account here.');
    if (!(await store.write((tx) => takePairing(tx, row.deviceHash)))) {
      throw over('pairing_taken', 'The credential of this computer was already handed out.');
    }
    const owner = await computers.ownerOf(row.computerId);
    if (owner !== null && owner !== userId) throw taken(row);
    const { computerId: id, version } = row;
    const token = newToken();
    const { cloudId, name } = await computers.admit({ id, userId, name: row.name, version, token });
    const homeCredential = await deps.home.begin({ userId, computerId: id, name });
    const ticketKeys = [...deps.tickets.keys];
    const shown = { id: user.id, name: user.name };
    return { status: 'approved', computerId: id, cloudId, user: shown, deviceToken: token, homeCredential, ticketKeys };
  }
}

/** The person's side: reads what a code is for, and decides. */
function createDeciding({ store, clock, computers, addressOf }: PairingsDeps) {
  return { find, decide, shown };

  /** The row of a code that this person may see; wrong codes are counted. */
  async function find(principal: Principal, code: string): Promise<PairingRow> {
    refuseUnlessHere(principal);
    const now = clock.now();
    const found = await store.write(function* (tx) {
      const before = yield* triesSince(tx, principal.userId, now - lifeMs);
      if (before.length >= tries) return { until: (before[0] ?? now) + lifeMs };
      const row = yield* pairingOfCode(tx, code, now);
      if (row === null) yield* noteTry(tx, principal.userId, now);
      return { row };
    });
    if (found.until !== undefined) {
      const wait = Math.max(1, Math.ceil((found.until - now) / 1000));
      throw tooMany(
        `${tries} wrong codes were typed.`,
        `Wait ${Math.ceil(wait / 60)} minutes, then type the new code.`,
        wait,
      );
    }
    if (found.row !== null) return found.row;
    throw new AppError(
      'not_found',
      `No computer shows the code ${JSON.stringify(dashed(code).slice(0, 20))}.`,
      'Compare it with what the computer shows now: a code is valid for ten minutes.',
      { wireCode: 'pairing_not_found' },
    );
  }

  async function decide(
    principal: Principal,
    code: string,
    state: 'approved' | 'denied',
    request: IncomingMessage,
  ): Promise<contract.Pairing> {
    const row = await find(principal, code);
    if (state === 'approved') {
      const owner = await computers.ownerOf(row.computerId);
      if (owner !== null && owner !== principal.userId) throw taken(row);
    }
    const done = await store.write((tx) => decidePairing(tx, code, state, principal.userId));
    const after = await store.read((tx) => pairingOfCode(tx, code, clock.now()));
    // The same decision by the same person again changes nothing.
    if (after !== null && (done || (phase(after) === state && after.userId === principal.userId))) {
      return shown(after, principal, request);
    }
    throw new AppError('refused', `The code ${dashed(code)} was already used.`, 'Ask the computer for a new one.', {
      status: 409,
      wireCode: 'already_answered',
    });
  }

  async function shown(row: PairingRow, { userId }: Principal, request: IncomingMessage): Promise<contract.Pairing> {
    const here = addressOf(request);
    return {
      code: dashed(row.userCode),
      computerId: row.computerId,
      name: row.name,
      version: row.version,
      from: row.address,
      here,
      differs: here !== row.address,
      requestedAt: iso(row.requestedAt),
      expiresAt: iso(row.expiresAt),
      remainingMs: Math.max(0, row.expiresAt - clock.now()),
      status: phase(row),
      known: (await computers.ownerOf(row.computerId)) === userId,
    };
  }
}

/** Only a person who is signed in here may let computers in, never a bearer or another computer. */
function refuseUnlessHere({ kind, via }: Principal): void {
  if (kind === 'owner' || via === 'cookie') return;
  throw new AppError(
    'refused',
    'A computer can be approved only in a browser that is signed in here.',
    'Open the address that the computer shows.',
    { wireCode: 'session_required' },
  );
}

const phase = ({ state }: PairingRow) => (state === 'taken' ? 'approved' : state);
const digest = (deviceCode: string) => hash('sha256', deviceCode, 'hex');
const dashed = (code: string) => (code.length > 4 ? `${code.slice(0, 4)}-${code.slice(4)}` : code);

function randomCode(): string {
  const letters = contract.userCodeLetters;
  return Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('');
}

function over(wireCode: string, fact: string): AppError {
  return new AppError('refused', fact, 'Start the pairing again.', { status: 410, wireCode });
}

function taken({ name }: PairingRow): AppError {
  return new AppError(
    'refused',
    `${name} is paired with another account here.`,
    'End that pairing first, on the computer or by its owner.',
    { status: 409, wireCode: 'computer_taken' },
  );
}

function tooMany(fact: string, action: string, retryAfter: number): AppError {
  return new AppError('refused', fact, action, { status: 429, wireCode: 'rate_limited', retryAfter });
}
