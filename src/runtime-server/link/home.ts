/**
 * The home cloud of this computer. It has exactly one at a time: the embedded one while unpaired, the remote one once paired.
 * What goes home (approvals, events, usage) goes through `call` and need not know which it is. Must not know routes.
 */
import type { TicketKey } from '../../contracts/link/pairings.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { signingKey } from '../../kit/signing/signature.ts';
import {
  createSignedCaller,
  largestOffsetMs,
  type SignedAnswer,
  type SignedCall,
  type SignedTarget,
} from '../../kit/signing/signed-call.ts';

interface AnyHome {
  /** Its address, without a slash at the end; null while there is none. */
  readonly cloudUrl: string | null;
  readonly computerId: string;
  /** The person there whose computer this is. */
  readonly user: { readonly id: string; readonly name: string };
  /** Signs for this computer. */
  readonly key: string;
  /** The cloud's valid signing keys: `key`, and for an hour the previous one. */
  readonly keys: readonly string[];
}

interface EmbeddedHome extends AnyHome {
  readonly kind: 'embedded';
}

export interface PairedHome extends AnyHome {
  readonly kind: 'paired';
  readonly cloudUrl: string;
  /** Signs in the person at this computer; only for this computer's own server. */
  readonly credential: string;
  readonly ticketKeys: readonly TicketKey[];
}

export type HomeNow = EmbeddedHome | PairedHome;

export interface Home {
  current(): HomeNow;
  /** Throws when it cannot be reached. */
  call(request: SignedCall): Promise<SignedAnswer>;
  /** How far the home cloud's clock was last ahead of this computer's; null: not known yet. Milliseconds. */
  aheadMs(): number | null;
  /** Told after each change of the home itself, not of its keys. */
  onChange(listener: (home: HomeNow) => void): () => void;
}

export interface SwitchableHome extends Home {
  /** The pairing that holds from now on; null: back to the embedded one. Says nothing to listeners when nothing changed. */
  become(paired: PairedHome | null): void;
  /** The keys that are valid for the cloud's signatures to this computer. */
  keysOf(computerId: string): readonly string[];
}

const noHome = 'This computer is not paired with a cloud.';

export function createHome(deps: {
  readonly clock: Clock;
  readonly computerId: string;
  readonly user: { readonly id: string; readonly name: string };
  /** The token that signs requests to the embedded cloud. */
  readonly token: string;
  /** The listener of the embedded cloud; null without an embedded cloud. */
  readonly embedded: () => { readonly host: string; readonly port: number } | null;
  readonly onFault: (fault: unknown) => void;
}): SwitchableHome {
  const { clock, computerId, user, embedded } = deps;
  const localKey = signingKey(deps.token);
  const listeners = new Set<(home: HomeNow) => void>();
  let paired: PairedHome | null = null;
  let aheadMs: number | null = null;
  const callEmbedded = createSignedCaller({
    runtimeId: computerId,
    key: localKey,
    clock,
    target: () => embedded() ?? fail(noHome),
  });
  let callPaired: typeof callEmbedded | null = null;

  function current(): HomeNow {
    if (paired !== null) return paired;
    const at = embedded();
    const cloudUrl = at === null ? null : `http://${at.host}:${at.port}`;
    return { kind: 'embedded', cloudUrl, computerId, user, key: localKey, keys: [localKey] };
  }

  const onTime = (ahead: number) => {
    if (Math.abs(ahead) <= largestOffsetMs) aheadMs = Math.round(ahead);
  };

  return {
    current,
    // The embedded cloud is this program.
    aheadMs: () => (paired === null ? 0 : aheadMs),
    call: (request) => (callPaired ?? callEmbedded)(request),
    become(next) {
      const before = paired;
      paired = next;
      if (before?.cloudUrl !== next?.cloudUrl) aheadMs = null;
      if (next === null) callPaired = null;
      else if (before === null || before.key !== next.key || before.cloudUrl !== next.cloudUrl) {
        const target = targetOf(next.cloudUrl);
        callPaired = createSignedCaller({
          runtimeId: next.computerId,
          key: next.key,
          clock,
          target: () => target,
          onTime,
        });
      }
      if (before?.cloudUrl === next?.cloudUrl && before?.credential === next?.credential) return;
      for (const listener of [...listeners]) {
        try {
          listener(current());
        } catch (fault) {
          deps.onFault(fault);
        }
      }
    },
    // Answers that the embedded cloud still brings stay valid: its person gave them before the computer was paired.
    keysOf: (id) => (id === computerId ? [...(paired?.keys ?? []), localKey] : []),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function targetOf(cloudUrl: string): SignedTarget {
  const { protocol, hostname, port } = new URL(cloudUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: port === '' ? undefined : Number(port), secure: protocol === 'https:' };
}

function fail(why: string): never {
  throw new Error(why);
}
