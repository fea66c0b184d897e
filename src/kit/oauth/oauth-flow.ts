/**
 * One run of the MCP SDK's sign-in for a target, such as an attached tool server: what it may use of the data that an earlier run left (the grant),
 * and what it changes, which is stored at its end in one write. Must not know when a sign-in is needed.
 */
import { randomBytes } from 'node:crypto';
import type { AuthOptions, OAuthClientProvider, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { AppError } from '../../contracts/common/errors.ts';
import { oauthCallback, oauthClientDocument, oauthClientMetadata } from '../../contracts/tool-server/mcp.ts';
import type { Egress } from '../egress/egress.ts';
import type { Grant, Grants, PendingSignIn } from './grants.ts';
import { fetchThrough, ProviderAway, watchProvider } from './provider-fetch.ts';

/** A server of somebody else that requires authentication. */
export interface OAuthTarget {
  /** Without dots. */
  readonly id: string;
  readonly name: string;
  /** The URL of the resource itself. */
  readonly url: string;
  /** The person's own settings: registered client and scopes; null if they gave none. */
  readonly oauth: {
    readonly clientId?: string | undefined;
    readonly clientSecret?: string | undefined;
    readonly scopes?: readonly string[] | undefined;
  } | null;
}

export interface FlowDeps {
  readonly grants: Pick<Grants, 'write'>;
  /** The guarded fetch for this target and the provider that it names. */
  readonly egress: (target: OAuthTarget) => Pick<Egress, 'request'>;
  readonly clock: { now(): number };
  /** Where the person's browser finds Gantry: `https://gantry.example`, `http://127.0.0.1:3010`. */
  readonly origin: () => string;
  /** First part of each state, so that the browser's redirect is routed to this computer. Without dots. */
  readonly computerId: string;
}

/** The grant of one run, as the SDK reads and changes it. */
function openRun(deps: FlowDeps, target: OAuthTarget, start: Grant) {
  const { clock, computerId } = deps;
  let grant = start;
  const change = (part: Partial<Grant>) => {
    grant = { ...grant, ...part };
  };
  const redirect = grant.pending?.redirect ?? `${deps.origin()}${oauthCallback.path}`;
  const origin = redirect.slice(0, -oauthCallback.path.length);
  const metadata = oauthClientMetadata(origin);
  const secret = grant.pending?.secret ?? randomBytes(24).toString('base64url');
  let verifier = grant.pending?.verifier ?? '';
  let discovery = grant.pending?.discovery ?? null;
  let authorizeUrl: string | null = null;
  const given = target.oauth?.clientId;
  const registered = (issuer: string | undefined) => {
    const found = issuer === undefined ? undefined : grant.clients[issuer];
    return found?.redirect === redirect ? found.client : undefined;
  };
  const provider: OAuthClientProvider = {
    redirectUrl: redirect,
    // The provider fetches it, so this works only if the internet reaches us.
    ...(origin.startsWith('https:') ? { clientMetadataUrl: `${origin}${oauthClientDocument.path}` } : {}),
    clientMetadata:
      target.oauth?.clientSecret === undefined
        ? metadata
        : { ...metadata, token_endpoint_auth_method: 'client_secret_basic' },
    state: () => `${computerId}.${target.id}.${secret}`,
    clientInformation(about) {
      if (given === undefined) return registered(about?.issuer);
      // Credentials from one provider are only for that one, whatever the resource names later.
      const [before, now] = [grant.issuer, about?.issuer];
      if (before !== null && now !== undefined && before !== now) {
        throw refused(
          `Its sign-in provider changed from ${before} to ${now}.`,
          'If that is intended, attach it again.',
        );
      }
      const secret = target.oauth?.clientSecret;
      return { client_id: given, ...(secret === undefined ? {} : { client_secret: secret }) };
    },
    saveClientInformation(client, about) {
      if (about !== undefined) change({ clients: { ...grant.clients, [about.issuer]: { client, redirect } } });
    },
    tokens: (about) => (isOf(grant.tokens?.set, about?.issuer) ? grant.tokens?.set : undefined),
    saveTokens(set, about) {
      const issuer = about?.issuer ?? set.issuer;
      const former = isOf(grant.tokens?.set, issuer) ? grant.tokens?.set : undefined;
      change({ tokens: { set: keepRefresh(set, former), savedAt: clock.now() }, issuer: issuer ?? null });
    },
    redirectToAuthorization(url) {
      authorizeUrl = url.href;
    },
    saveCodeVerifier(text) {
      verifier = text;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(state) {
      discovery = state;
    },
    discoveryState: () => discovery ?? undefined,
    invalidateCredentials(scope) {
      if (scope === 'all' || scope === 'client') change({ clients: {} });
      if (scope === 'all' || scope === 'tokens') change({ tokens: null });
      if (scope === 'all' || scope === 'discovery') discovery = null;
    },
  };
  return {
    provider,
    change,
    grant: () => grant,
    authorizeUrl: () => authorizeUrl,
    /** The sign-in that a person is asked for at this address. */
    pending: (url: string): PendingSignIn => ({
      secret,
      verifier,
      redirect,
      authorizeUrl: url,
      discovery,
      startedAt: clock.now(),
    }),
  };
}

export async function runFlow(
  deps: FlowDeps,
  target: OAuthTarget,
  start: Grant,
  options: Omit<AuthOptions, 'serverUrl' | 'fetchFn'>,
) {
  const { provider, change, ...opened } = openRun(deps, target, start);
  const { auth } = await import('@modelcontextprotocol/client');
  const watched = watchProvider(fetchThrough(deps.egress(target)));
  /** The SDK treats an unreachable provider as missing: it would ask a person to sign in although nothing is lost. */
  const mustBeThere = (cause?: unknown) => {
    const why = watched.away();
    if (why !== null && opened.grant().tokens?.set.refresh_token !== undefined) throw new ProviderAway(why, { cause });
  };
  const scopes = target.oauth?.scopes;
  try {
    const scope = scopes === undefined || scopes.length === 0 ? undefined : scopes.join(' ');
    const outcome = await auth(provider, {
      ...options,
      ...(scope === undefined ? {} : { scope }),
      serverUrl: target.url,
      fetchFn: watched.fetch,
    }).catch((cause) => {
      mustBeThere(cause);
      throw cause;
    });
    if (outcome !== 'AUTHORIZED') mustBeThere();
    if (outcome === 'AUTHORIZED') change({ pending: null });
    const authorizeUrl = opened.authorizeUrl();
    if (outcome !== 'AUTHORIZED' && authorizeUrl !== null) change({ pending: opened.pending(authorizeUrl) });
    return { outcome, authorizeUrl };
  } finally {
    if (opened.grant() !== start) await deps.grants.write(target.id, opened.grant());
  }
}

/** Tokens of one provider are only for that one. */
function isOf(set: StoredOAuthTokens | undefined, issuer: string | undefined): boolean {
  return set?.issuer === undefined || issuer === undefined || set.issuer === issuer;
}

/** A renewed set may omit the refresh token: the former one stays valid (RFC 6749 6). */
function keepRefresh(set: StoredOAuthTokens, before: StoredOAuthTokens | undefined): StoredOAuthTokens {
  const former = before?.refresh_token;
  return set.refresh_token === undefined && former !== undefined ? { ...set, refresh_token: former } : set;
}

export function refused(fact: string, action: string, cause?: unknown): AppError {
  return new AppError('refused', fact, action, {
    wireCode: 'sign_in_refused',
    ...(cause === undefined ? {} : { cause }),
  });
}
