/** What connectors need of attached tool servers and of sign-ins at them. Only types; `host` implements both. */
import type { AttachedServer, AttachServer, ChangeServer } from '../../contracts/tool-server/servers.ts';
import type { JsonObject } from './ports.ts';

/** Why a server did not do as asked. */
export interface Failure {
  readonly kind: 'unauthorized' | 'session' | 'timeout' | 'answer' | 'connection';
  readonly message: string;
  /** Null: it sent nothing readable. */
  readonly said: {
    /** Code of JSON-RPC, and of HTTP; null if there is none. */
    readonly code: number | null;
    readonly status: number | null;
    readonly message: string;
    readonly data: unknown;
  } | null;
}

/** Throws `not_found` for an unknown one. */
export interface AttachedPort {
  all(): readonly AttachedServer[];
  one(id: string): AttachedServer;
  attach(body: AttachServer): Promise<AttachedServer>;
  /** `signedOut`: also forgets the sign-in there, once the change is kept. */
  change(id: string, body: ChangeServer, how: { readonly signedOut: boolean }): Promise<AttachedServer>;
  detach(id: string): Promise<void>;
  readonly upstreams: {
    ask(
      id: string,
      method: string,
      params: JsonObject,
      options: { readonly signal: AbortSignal; readonly timeoutMs: number },
    ): Promise<JsonObject>;
    capabilities(id: string, signal: AbortSignal): Promise<JsonObject>;
    /** Without secrets; null: the thrown value is no fault of a server. */
    explain(id: string, thrown: unknown): Failure | null;
    signedOut(id: string): Promise<void>;
    onCredential(listener: (id: string, is: 'lost' | 'back') => void): () => void;
    onGone(listener: (server: AttachedServer) => void): () => void;
  };
}

export interface SignInPort {
  about(id: string): Promise<{
    readonly signedIn: boolean;
    readonly issuer: string | null;
    readonly scopes: readonly string[];
    /** Milliseconds since the epoch. */
    readonly expiresAt: number | null;
    readonly authorizeUrl: string | null;
  }>;
  /** Throws `refused` where sign-in is impossible. */
  begin(id: string): Promise<{ readonly authorizeUrl: string }>;
  /** At the provider and here. Returns why the provider refused it; null where it did not. Never throws. */
  revoke(id: string): Promise<string | null>;
}
