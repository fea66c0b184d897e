/**
 * The public keys of the OpenID provider (JWKS). The last set is kept on disk and serves for a day while the provider
 * is away. Tokens with unknown keys cannot make us ask the provider without end. Must not know what is signed.
 */
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';
import { reasonOf } from './provider.ts';

/** Providers publish a new key some time before they use it. */
const freshMs = 10 * 60_000;
/** The provider is asked no more often than this, whatever tokens come. */
const pauseMs = 30_000;
const staleMs = 24 * 60 * 60_000;
const timeoutMs = 5_000;
/** A real set of keys is small; anything larger is refused. */
const largestSet = 256 * 1024;

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });
const StoredFile = z.object({ issuer: z.string(), fetchedAt: z.number(), jwks: KeySet });

interface Known {
  readonly jwks: unknown;
  readonly fetchedAt: number;
  readonly select: ReturnType<typeof createLocalJWKSet>;
}

export function createIssuerKeys(deps: {
  readonly issuer: string;
  /** Where the provider publishes its keys. */
  readonly keysUrl: () => Promise<string>;
  readonly fetch: typeof fetch;
  /** File of the last set. */
  readonly file: string;
  readonly clock: { now(): number };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
}): JWTVerifyGetKey {
  const { issuer, clock, log, file } = deps;
  let known: Known | null = readFromDisk();
  let askAgainAt = 0;
  let asking: Promise<void> | null = null;

  function readFromDisk(): Known | null {
    try {
      const kept = StoredFile.parse(JSON.parse(readFileSync(file, 'utf8')));
      return kept.issuer === issuer ? toKnown(kept.jwks, kept.fetchedAt) : null;
    } catch {
      // Missing or damaged: the provider is asked.
      return null;
    }
  }

  function toKnown(jwks: unknown, fetchedAt: number): Known {
    return { jwks, fetchedAt, select: createLocalJWKSet(jwks as JSONWebKeySet) };
  }

  async function ask(): Promise<void> {
    askAgainAt = clock.now() + pauseMs;
    try {
      const url = await deps.keysUrl();
      // Anyone who can change the keys in transit can sign in as anybody. The settings allow an http issuer only on this machine.
      if (issuer.startsWith('https:') && new URL(url).protocol !== 'https:') {
        throw new Error(`it names the address ${url} for them, which is not https`);
      }
      const answer = await deps.fetch(url, {
        redirect: 'error',
        headers: { accept: 'application/json, application/jwk-set+json' },
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (!answer.ok) throw new Error(`its answer was ${answer.status}`);
      const text = await answer.text();
      if (text.length > largestSet) throw new Error(`its answer has ${text.length} characters`);
      const jwks = KeySet.parse(JSON.parse(text));
      known = toKnown(jwks, clock.now());
      writePrivateFile(file, JSON.stringify({ issuer, fetchedAt: known.fetchedAt, jwks }));
    } catch (cause) {
      const age = known === null ? null : Math.round((clock.now() - known.fetchedAt) / 60_000);
      log.warn('the keys of the OpenID provider cannot be read', { issuer, why: reasonOf(cause), keysAgeMinutes: age });
    } finally {
      asking = null;
    }
  }

  const refresh = (): Promise<void> => {
    if (asking === null && clock.now() < askAgainAt) return Promise.resolve();
    asking ??= ask();
    return asking;
  };

  function usable(): Known {
    if (known !== null && clock.now() - known.fetchedAt <= staleMs) return known;
    throw new AppError(
      'transport',
      `The keys of the OpenID provider ${issuer} are not known.`,
      'Try again in a minute.',
      { wireCode: 'unavailable' },
    );
  }

  return async (header, token) => {
    if (known === null || clock.now() - known.fetchedAt > freshMs) await refresh();
    try {
      return await usable().select(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const before = known;
      await refresh();
      if (known === before) throw error;
      return usable().select(header, token);
    }
  };
}
