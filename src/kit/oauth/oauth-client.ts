/**
 * Signs a person in at other people's servers and keeps their tokens fresh (RFC 9728, 8414, 7636, 9207, 8707, 7591;
 * client-id metadata documents). The official SDK speaks the protocol; this adds what the SDK leaves open: one sign-in
 * at a time for each target, sealed tokens, a guarded way out, codes that come back from a browser. First user:
 * attached tool servers; second: connectors. Must not know what a target is.
 */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import { oauthCallback } from '../../contracts/tool-server/mcp.ts';
import type { Grants, PendingSignIn } from './grants.ts';
import { type FlowDeps, type OAuthTarget, refused, runFlow } from './oauth-flow.ts';
import { answerMs, fetchThrough, ProviderAway } from './provider-fetch.ts';
import { revokeTokens } from './revocation.ts';

export type { OAuthTarget } from './oauth-flow.ts';

export type SignIn =
  /** There is a new token that was not sent before: try once more. */
  | { readonly is: 'token' }
  /** A person must sign in there. */
  | { readonly is: 'sign_in'; readonly authorizeUrl: string }
  /** The provider is away, and the token may be renewed when it is back; a sentence that says why. */
  | { readonly is: 'later'; readonly why: string }
  /** No sign-in is possible; a sentence that says why. */
  | { readonly is: 'none'; readonly why: string };

export interface OAuthClient {
  /** The access token to send, refreshed shortly before it ends; null: there is none. */
  tokenFor(target: OAuthTarget): Promise<string | null>;
  /** The target refused the token (401), or requires more scopes (403). Never throws. */
  challenge(
    target: OAuthTarget,
    said: { readonly status: number; readonly wwwAuthenticate: string | null; readonly token: string | null },
  ): Promise<SignIn>;
  /**
   * Handles the provider's redirect of the browser. `find` returns the target of an id. Returns the target's name; throws `refused` if nobody began
   * this sign-in, it is over, or the provider refused.
   */
  finish(
    answer: SignInAnswer,
    find: (id: string) => OAuthTarget | null | Promise<OAuthTarget | null>,
  ): Promise<{ readonly id: string; readonly name: string }>;
  /** The state of the grant, without asking anybody. */
  about(id: string): Promise<SignInState>;
  /** Begins a sign-in even if there is a grant: another account, more rights. The existing grant holds until it is finished. Throws `refused`. */
  begin(target: OAuthTarget): Promise<{ readonly authorizeUrl: string }>;
  /**
   * Revokes the grant at the provider, if it supports that (RFC 7009), and in any case forgets it here. Returns why the provider did not revoke it;
   * null if it did, or if there was nothing to revoke.
   */
  revoke(target: OAuthTarget): Promise<string | null>;
  /** Removes tokens, registrations and sign-ins of a target that is gone or was replaced. */
  forget(id: string): Promise<void>;
  /** Called when a sign-in was answered, with a token or without. Returns a function that unsubscribes. */
  onAnswered(listener: (id: string, signedIn: boolean) => void): () => void;
}

interface SignInState {
  readonly signedIn: boolean;
  readonly issuer: string | null;
  readonly scopes: readonly string[];
  /** Expiry of the access token, milliseconds since the epoch; null: its provider does not say. */
  readonly expiresAt: number | null;
  /** For a sign-in under way. */
  readonly authorizeUrl: string | null;
}

interface SignInAnswer {
  readonly state: string;
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
  readonly error_description?: string | undefined;
}

/** Time limit of a sign-in, milliseconds. */
const signInMs = 10 * 60_000;
/** A token is renewed this long before its end: clocks differ. Milliseconds. */
const earlyMs = 60_000;

export function createOAuthClient(deps: FlowDeps & { readonly grants: Grants }): OAuthClient {
  const { grants, clock, computerId } = deps;
  const listeners = new Set<(id: string, signedIn: boolean) => void>();
  /** One operation at a time for each target: a refresh token that is used twice ends the whole grant. */
  const turns = new Map<string, Promise<unknown>>();

  function inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = turns.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    const done = mine.catch(() => {});
    turns.set(id, done);
    void done.then(() => {
      if (turns.get(id) === done) turns.delete(id);
    });
    return mine;
  }

  function tell(id: string, signedIn: boolean): void {
    for (const listener of listeners) listener(id, signedIn);
  }

  const fresh = (pending: PendingSignIn | null) => pending !== null && clock.now() - pending.startedAt < signInMs;

  async function finished(target: OAuthTarget, secret: string, answer: SignInAnswer): Promise<void> {
    const grant = await grants.read(target.id);
    const { pending } = grant;
    if (pending === null || !fresh(pending)) {
      tell(target.id, false);
      throw nobodyBegan();
    }
    if (!isSame(pending.secret, secret)) throw nobodyBegan();
    // A redirect is valid once, whatever its outcome.
    await grants.write(target.id, { ...grant, pending: null });
    if (answer.code === undefined) {
      tell(target.id, false);
      const words = [answer.error, answer.error_description].filter((part) => part !== undefined).join(': ');
      const said = words === '' ? 'nothing' : JSON.stringify(plain(words));
      throw refused(`${target.name} did not sign you in: its provider said ${said}.`, 'Start the sign-in again.');
    }
    const options = { authorizationCode: answer.code, ...(answer.iss === undefined ? {} : { iss: answer.iss }) };
    await runFlow(deps, target, grant, options).catch((cause) => {
      tell(target.id, false);
      throw refused(`${target.name} did not sign you in: ${plain(wordsOf(cause))}`, 'Start the sign-in again.', cause);
    });
    tell(target.id, true);
  }

  return {
    tokenFor: (target) =>
      inTurn(target.id, async () => {
        const grant = await grants.read(target.id);
        if (grant.tokens === null) return null;
        const { set, savedAt } = grant.tokens;
        const endsAt = set.expires_in === undefined ? null : savedAt + set.expires_in * 1000;
        if (endsAt === null || clock.now() < endsAt - earlyMs || set.refresh_token === undefined) {
          return set.access_token;
        }
        try {
          const { outcome } = await runFlow(deps, target, { ...grant, pending: null }, {});
          if (outcome === 'AUTHORIZED') return (await grants.read(target.id)).tokens?.set.access_token ?? null;
        } catch {
          // The provider is away: the current token may still work; if not, the target refuses it.
        }
        return set.access_token;
      }),
    challenge: (target, said) =>
      inTurn(target.id, () => challenged(deps, fresh, target, said)).catch((error) => {
        const why = plain(wordsOf(error));
        return error instanceof ProviderAway
          ? { is: 'later', why: `The sign-in at ${target.name} cannot be renewed now: ${why}` }
          : { is: 'none', why: `Signing in at ${target.name} is not possible: ${why}` };
      }),
    async finish(answer, find) {
      const [computer, id, secret] = answer.state.split('.');
      const target = computer === computerId && id !== undefined ? await find(id) : null;
      if (target === null || secret === undefined) throw nobodyBegan();
      await inTurn(target.id, () => finished(target, secret, answer));
      return { id: target.id, name: target.name };
    },
    async about(id) {
      const { tokens, issuer, pending } = await grants.read(id);
      const endsIn = tokens?.set.expires_in;
      return {
        signedIn: tokens !== null,
        issuer: tokens === null ? null : issuer,
        scopes: tokens?.set.scope?.split(' ').filter((scope) => scope !== '') ?? [],
        expiresAt: tokens === null || endsIn === undefined ? null : tokens.savedAt + endsIn * 1000,
        authorizeUrl: pending !== null && fresh(pending) ? pending.authorizeUrl : null,
      };
    },
    begin: (target) =>
      inTurn(target.id, async () => {
        const grant = await grants.read(target.id);
        const start = { ...grant, pending: null };
        const { authorizeUrl } = await runFlow(deps, target, start, { forceReauthorization: true }).catch((cause) => {
          throw noSignIn(`Signing in at ${target.name} is not possible: ${plain(wordsOf(cause))}`, cause);
        });
        if (authorizeUrl === null) throw noSignIn(`${target.name} offers no sign-in.`);
        return { authorizeUrl };
      }),
    async revoke(target) {
      const grant = await inTurn(target.id, async () => {
        const kept = await grants.read(target.id);
        // Removed here first: whatever the provider does, it is not used any more.
        await grants.remove(target.id);
        return kept;
      });
      const given = target.oauth?.clientId;
      const registered = grant.issuer === null ? undefined : grant.clients[grant.issuer]?.client;
      const client = given === undefined ? registered : { client_id: given, client_secret: target.oauth?.clientSecret };
      const { issuer, tokens } = grant;
      const signal = AbortSignal.timeout(answerMs);
      const ask = fetchThrough(deps.egress(target));
      const fetch = (url: string | URL, init?: RequestInit) => ask(url, { ...init, signal });
      return revokeTokens({ issuer, set: tokens?.set, client }, fetch).catch((error) => plain(wordsOf(error)));
    },
    forget: (id) => inTurn(id, () => grants.remove(id)),
    onAnswered(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** How a target that refused a call is reached: with a token it already has, after a sign-in, or not at all. */
async function challenged(
  deps: FlowDeps & { readonly grants: Grants },
  fresh: (pending: PendingSignIn | null) => boolean,
  target: OAuthTarget,
  said: { readonly status: number; readonly wwwAuthenticate: string | null; readonly token: string | null },
): Promise<SignIn> {
  const { grants, clock } = deps;
  const grant = await grants.read(target.id);
  const known = grant.tokens?.set.access_token ?? null;
  if (known !== null && known !== said.token) return { is: 'token' };
  const origin = `${deps.origin()}${oauthCallback.path}`;
  if (grant.pending !== null && fresh(grant.pending) && grant.pending.redirect === origin) {
    return { is: 'sign_in', authorizeUrl: grant.pending.authorizeUrl };
  }
  const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const headers = new Headers();
  if (said.wwwAuthenticate !== null) headers.set('www-authenticate', said.wwwAuthenticate);
  const asked = extractWWWAuthenticateParams(new Response(null, { status: said.status, headers }));
  // A token that was refused just after it was made: renewing it once more would loop.
  const justMade = grant.tokens !== null && clock.now() - grant.tokens.savedAt < earlyMs / 2;
  const { outcome, authorizeUrl } = await runFlow(
    deps,
    target,
    { ...grant, pending: null },
    {
      ...(asked.resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: asked.resourceMetadataUrl }),
      ...(asked.scope === undefined ? {} : { scope: asked.scope }),
      forceReauthorization: said.status === 403 || justMade,
    },
  );
  if (outcome === 'AUTHORIZED') return { is: 'token' };
  return authorizeUrl === null
    ? { is: 'none', why: `${target.name} offers no sign-in.` }
    : { is: 'sign_in', authorizeUrl };
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** What others wrote, as one line. */
function plain(text: string): string {
  return text.replace(/[\p{C}\s]+/gu, ' ').slice(0, 300);
}

function wordsOf(error: unknown): string {
  if (error instanceof AppError) return `${error.fact} ${error.action}`;
  return error instanceof Error ? error.message : String(error);
}

function noSignIn(fact: string, cause?: unknown): AppError {
  const action = 'If it needs a key, give it one; if its provider gave you a client ID, set that.';
  return new AppError('refused', fact, action, { status: 409, wireCode: 'sign_in_refused', cause });
}

function nobodyBegan(): AppError {
  return refused('This sign-in was not started here, or it took too long.', 'Start it again in Gantry.');
}
