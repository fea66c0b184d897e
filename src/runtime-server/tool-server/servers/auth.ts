/**
 * What attached servers need from the part that signs in at them over OAuth. Declared here, where it is used; `host` supplies the
 * implementation. Without one, credentials are the headers that the person set. Must not know how OAuth works.
 */
import type { OAuthTarget, SignIn } from '../../../kit/oauth/oauth-client.ts';

export type AuthServer = OAuthTarget;
type ChallengeAnswer = SignIn;

export interface ServerAuth {
  /** The access token to send, refreshed if needed; null: none is known, the server is asked without. */
  tokenFor(server: AuthServer, signal: AbortSignal): Promise<string | null>;
  /**
   * The server answered 401, or 403 for want of scope. `wwwAuthenticate`: its header, null for none. A sign-in that is under way already returns the
   * same address again. Never throws.
   */
  challenge(
    server: AuthServer,
    said: { readonly status: number; readonly wwwAuthenticate: string | null; readonly token: string | null },
    signal: AbortSignal,
  ): Promise<ChallengeAnswer>;
  /** Tokens, registrations and sign-ins of a server that is detached, or that is another one now. */
  forget(serverId: string): Promise<void>;
  /** Called when a sign-in was answered, with a token or without. Returns the function that unsubscribes. */
  onAnswered(listener: (serverId: string, signedIn: boolean) => void): () => void;
}
