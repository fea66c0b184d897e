/** Revokes tokens at the provider that issued them (RFC 7009). Must not know where they are stored. */
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import type { ProviderFetch } from './provider-fetch.ts';

interface Revocable {
  readonly issuer: string | null;
  readonly set: StoredOAuthTokens | undefined;
  readonly client: Pick<StoredOAuthClientInformation, 'client_id' | 'client_secret'> | undefined;
}

/** Null: revoked, or there was nothing; otherwise the reason, in a sentence. Throws errors of `fetch`. */
export async function revokeTokens({ issuer, set, client }: Revocable, fetch: ProviderFetch): Promise<string | null> {
  if (issuer === null || set === undefined || client === undefined) return null;
  const { discoverAuthorizationServerMetadata, selectClientAuthMethod } = await import('@modelcontextprotocol/client');
  const metadata = (await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch })) as Metadata | undefined;
  const endpoint = metadata?.revocation_endpoint;
  if (typeof endpoint !== 'string') return `${issuer} offers no way to revoke a sign-in.`;
  // A token must not travel unencrypted because a document says so.
  if (issuer.startsWith('https:') && !endpoint.startsWith('https:')) return `${issuer} would receive it unencrypted.`;
  const { revocation_endpoint_auth_methods_supported: own, token_endpoint_auth_methods_supported: other } =
    metadata ?? {};
  const method = selectClientAuthMethod(client, own ?? other ?? []);

  async function give(token: string, hint: string): Promise<string | null> {
    const body = new URLSearchParams({ token, token_type_hint: hint });
    const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
    if (method === 'client_secret_basic') {
      const pair = [client?.client_id ?? '', client?.client_secret ?? ''].map(encodeURIComponent).join(':');
      headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    } else {
      body.set('client_id', client?.client_id ?? '');
      if (method === 'client_secret_post') body.set('client_secret', client?.client_secret ?? '');
    }
    const { status } = await fetch(endpoint as string, { method: 'POST', headers, body: body.toString() });
    return status === 200 || status === 204 ? null : `${issuer} answered the revocation with ${status}.`;
  }

  // The refresh token first: with it the whole grant ends (RFC 7009 2.1).
  const whole = set.refresh_token === undefined ? null : await give(set.refresh_token, 'refresh_token');
  return (await give(set.access_token, 'access_token')) ?? whole;
}

/** Members that the SDK does not declare. */
interface Metadata {
  readonly revocation_endpoint?: unknown;
  readonly revocation_endpoint_auth_methods_supported?: string[];
  readonly token_endpoint_auth_methods_supported?: string[];
}
