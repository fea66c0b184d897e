/**
 * The wire between the proxy of sandboxes (it connects and passes on, and decides nothing) and the runtime, which decides, over its stdin and stdout:
 * frames of `u32 length · head (JSON)`. Both ends import this file and nothing else of each other.
 */

/** The proxy listens for it, at this path; again for a sandbox that is open already. Answered with {@link Opened} or {@link NotOpened}. */
export interface OpenSandbox {
  readonly do: 'open';
  readonly id: string;
  /** Absolute path of a Unix socket in a folder that only we can enter. What lies there is replaced. */
  readonly socket: string;
  /** Of Gantry itself on this computer. */
  readonly enginePort: number;
  /** Secrets that the sandbox has as placeholders only. TLS is opened for the hosts of these, and for no other. */
  readonly keys: readonly KeyUse[];
  /** 32 secret bytes in hex, from which the key of its authority follows: the same after a restart, so that running programs still trust it. */
  readonly seed: string;
  /** Null if it signs in nowhere by SSH. */
  readonly ssh: SshOrder | null;
}

/** An agent for programs that sign in by SSH. They can have it sign, and nothing else. */
export interface SshOrder {
  /** Absolute path of the socket that the sandbox sees. */
  readonly socket: string;
  /** Absolute path of a file with the keys of those hosts, as SSH keeps them. */
  readonly knownHosts: string;
  readonly keys: readonly SshKey[];
}

interface SshKey {
  /** As a person knows it. */
  readonly name: string;
  /** The private key, as a file has it. */
  readonly value: string;
  /** Its host as SSH's files spell it: `git.example.org`, `[git.example.org]:2222`. */
  readonly place: string;
}

/** Where the value of one secret goes instead of its placeholder. */
export interface KeyUse {
  /** As a person knows it. */
  readonly name: string;
  readonly placeholder: string;
  readonly value: string;
  readonly host: string;
  readonly port: number;
  /** In lower case. */
  readonly header: string;
  /** raw: the whole header · bearer: behind `Bearer` or `token` · basic: user or password. */
  readonly form: 'raw' | 'bearer' | 'basic';
  /** Null: any. */
  readonly methods: readonly string[] | null;
}

/** Ends its connections, too. */
interface CloseSandbox {
  readonly do: 'close';
  readonly id: string;
}

interface Answer {
  readonly do: 'answer';
  readonly question: number;
  readonly verdict: Verdict;
}

export type Verdict =
  /** `isPrivateAllowed`: the host may lead to an address that is not public. */
  | { readonly allow: true; readonly isPrivateAllowed: boolean }
  /** `why` ends a sentence. */
  | { readonly allow: false; readonly reason: Reason; readonly why: string };

/**
 * asked: a person has not answered yet · rejected: a person said no · rule: the policy says no · limit: too much at once · private: it is no public
 * address · placeholder: a secret's placeholder is where its value may not go · mismatch: TLS or HTTP inside of the connection names another host · invalid: not understood.
 */
export type Reason = 'asked' | 'rejected' | 'rule' | 'limit' | 'private' | 'placeholder' | 'mismatch' | 'invalid';

export type Order = OpenSandbox | CloseSandbox | Answer;
export type OrderHead = Order & { readonly size: 0 };

/** A program wants to connect; nothing is looked up or sent until {@link Answer}. `host` is normal: see `kit/egress/host-name.ts`. */
export interface Question {
  readonly event: 'question';
  readonly question: number;
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

interface Opened {
  readonly event: 'opened';
  readonly id: string;
  /** PEM of the certificate that its programs have to trust; null where nothing is opened. */
  readonly authority: string | null;
}

interface NotOpened {
  readonly event: 'not opened';
  readonly id: string;
  readonly why: string;
}

/** What the runtime allowed, or was not asked about, and the proxy refused. */
export interface Refused {
  readonly event: 'refused';
  readonly id: string;
  /** Null: it cannot be told. */
  readonly host: string | null;
  readonly port: number;
  readonly reason: Reason;
  readonly why: string;
}

export type ProxyEvent = Question | Opened | NotOpened | Refused;
export type EventHead = ProxyEvent & { readonly size: 0 };

/** Of all secrets of a sandbox together; one has at most 64 KiB. */
export const maxHeadLength = 16 * 1024 * 1024;
