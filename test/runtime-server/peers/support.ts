/** A paired computer for tests: real tickets, signed as the cloud signs them, and calls to its peer port. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createSseParser } from '../../../src/contracts/common/sse-parser.ts';
import type { TicketKey } from '../../../src/contracts/link/pairings.ts';
import type { PeerPairing } from '../../../src/host/peer-server.ts';
import type { TicketFacts } from '../../../src/runtime-server/peers/index.ts';
import { uploadHash } from '../../../src/runtime-server/peers/upload-hash.ts';
import { type Engine, waitFor } from '../engine.ts';

export const peerComputer = 'computer_01PEER';
export const issuer = 'https://cloud.example';

export interface TicketClaims {
  readonly typ?: string;
  readonly audience?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly issuer?: string;
}

export interface TicketOffice {
  readonly pairing: PeerPairing & { set(facts: TicketFacts | null): void };
  readonly facts: TicketFacts;
  mint(user: string, claims?: TicketClaims): Promise<string>;
}

export async function openTicketOffice(computerId = peerComputer): Promise<TicketOffice> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const jwk = (await exportJWK(publicKey)) as { x: string };
  const key: TicketKey = { kty: 'OKP', crv: 'Ed25519', x: jwk.x, kid: 'key_1', alg: 'EdDSA', use: 'sig' };
  const facts: TicketFacts = { keys: [key], computerId, issuer, user: 'user_ada', aheadMs: 0 };
  let current: TicketFacts | null = facts;
  const listeners = new Set<() => void>();
  return {
    facts,
    pairing: {
      current: () => current,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      set(next) {
        current = next;
        for (const listener of listeners) listener();
      },
    },
    mint(user, claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({})
        .setProtectedHeader({ alg: 'EdDSA', typ: claims.typ ?? 'peer-ticket+jwt', kid: 'key_1' })
        .setIssuer(claims.issuer ?? issuer)
        .setAudience(claims.audience ?? `computer:${computerId}`)
        .setSubject(user)
        .setJti(`jti_${Math.random()}`)
        .setIssuedAt(claims.iat ?? now)
        .setExpirationTime(claims.exp ?? now + 300)
        .sign(privateKey);
    },
  };
}

export interface PeerAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** As the calling computer sends a team that its person said yes to; a test that means otherwise gives `trusted` itself. */
function withYes(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('files' in body) || 'trusted' in body) return body;
  if (typeof body.files !== 'object' || body.files === null) return body;
  return { ...body, trusted: uploadHash(body.files as Record<string, string>) };
}

/** One person's calls to the peer port. */
export function peerCaller(engine: () => Engine, office: TicketOffice, user: string) {
  const base = async () => {
    const port = await waitFor(
      () => engine().peers?.port ?? null,
      (open) => open !== null,
    );
    return `http://127.0.0.1:${port}/api/factory/peer`;
  };
  return {
    async call<T = Record<string, never>>(
      method: string,
      path: string,
      body?: unknown,
      { ticket, headers = {} }: { ticket?: string; headers?: Record<string, string> } = {},
    ): Promise<PeerAnswer<T>> {
      const sent = withYes(body);
      const response = await fetch(`${await base()}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${ticket ?? (await office.mint(user))}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
    async stream(path: string, ticket?: string) {
      const abort = new AbortController();
      const response = await fetch(`${await base()}${path}`, {
        headers: { authorization: `Bearer ${ticket ?? (await office.mint(user))}` },
        signal: abort.signal,
      });
      const events: { event: string; data: Record<string, unknown> }[] = [];
      const parser = createSseParser();
      const decoder = new TextDecoder();
      const read = async () => {
        for await (const bytes of response.body ?? []) {
          for (const message of parser.push(decoder.decode(bytes, { stream: true }))) {
            events.push({ event: message.event, data: JSON.parse(message.data) });
          }
        }
      };
      const ended = read().catch(() => {});
      return {
        status: response.status,
        events,
        ended,
        close: () => abort.abort(),
        next: (fits: (event: (typeof events)[number]) => boolean) =>
          waitFor(
            () => events.find(fits),
            (event) => event !== undefined,
          ),
      };
    },
  };
}

export const teamOf = (...slugs: string[]) => ({
  'team.yaml': `bots:\n${slugs.map((slug) => `  - {bot: ${slug}, harness: shell}\n`).join('')}`,
});
