/**
 * What Gantry knows of an agent program besides how it drives it: how a person installs it and signs in, which files decide what it runs, and where
 * it keeps its conversations. Each harness's folder has one, in `program.ts`; the list is `programs.ts`. Must not know bots.
 */
import type { DeliveryEvidence } from '../../contracts/factory/delivery.ts';
import type { Adapter, Surroundings } from './adapter.ts';
import type { Conversations } from './conversations.ts';

export interface Program {
  /** Looked up on PATH; null: no program is needed. */
  readonly command: string | null;
  /** npm package whose version is the program's. */
  readonly package: string | null;
  /** A command, or a sentence that says what to do. */
  readonly install: string | null;
  readonly signIn: SignIn | null;
  readonly settings: ProgramSettings | null;
  /** Of the person's own conversations; null: they cannot be adopted. */
  readonly conversations: Conversations | null;
  readonly keeps?: Keeps;
  /** How several sign-ins of it lie side by side; a text: why they cannot, in a sentence. */
  readonly accounts: AccountPlace | string;
  /** Absent: Gantry starts it, and promises nothing else. */
  readonly promises?: Promises;
  /** What it calls to work and to stay signed in; absent: nothing. */
  readonly service?: Service;
  /** Gantry calls a server in it: in a network of its own that cannot be reached. */
  readonly isCalled?: true;
}

/**
 * What the adapter promises of the program. `docs/agent-programs.md` is written from it, and the conformance kit (`test/conformance/harness`) plays
 * it, with a stand-in and with the real program.
 */
export interface Promises {
  /** How a message gets in: pasted into its composer, as a line in a file that it reads, by a call to a server inside it, or as the protocol has it. */
  readonly via: 'paste' | 'file' | 'server' | 'protocol';
  /** Who sees that a message arrived; the first one unless it is away. */
  readonly witness: readonly [DeliveryEvidence, ...DeliveryEvidence[]];
  readonly asks: {
    /** How Gantry learns of its question. */
    readonly by: 'hook' | 'file' | 'server' | 'screen' | 'transcript' | 'protocol';
    /** `inbox`: an approval, and there is no pane. */
    readonly answered: 'approval' | 'pane' | 'inbox';
    readonly about: string;
  };
  /** Where the tokens that it used are read; null: nowhere. */
  readonly usage: 'transcript' | 'database' | null;
  /** What continues a conversation: a word on its command line, a method of the protocol. */
  readonly resume: string;
  /** Rows of the kit that do not apply to it, each with the reason. */
  readonly exempt: Readonly<Record<string, string>>;
}

/** Where an account of a program lies, and what the files there say. */
export interface AccountPlace {
  /** The program's own variable that names the folder of its sign-in, settings and conversations. */
  readonly variable: string;
  /** Where that folder is without the variable: below the home folder. */
  readonly own: string;
  /** Variables of the person's that the program would take in place of the account's sign-in. */
  readonly without: readonly string[];
  /** Signs of a sign-in, below the folder, and who pays for its use; the first that is found counts. `field` null: the file itself. */
  readonly signs: readonly {
    readonly file: string;
    readonly field: string | null;
    readonly paidBy: 'subscription' | 'key';
  }[];
  /** Below the folder: each conversation there is one file, which another account can continue. Null: it cannot. */
  readonly transcripts: string | null;
}

/** A harness's folder, whole. */
export interface Harness extends Program {
  readonly adapter: (around: Surroundings) => Adapter;
}

/** What a program keeps for itself: its sign-in, settings and conversations, and what it reports to Gantry. */
interface Keeps {
  /** Below the home folder. A file is there only once the program ran without a sandbox. */
  readonly folders: readonly string[];
  readonly files: readonly string[];
  /** Variables of the person's that put them elsewhere, each with the folder below what it names; empty: that itself. */
  readonly elsewhere: Readonly<Record<string, string>>;
  /** Files in the bot's own folder that Gantry makes and the program writes. */
  readonly reports: readonly string[];
}

interface Service {
  /** Reached on port 443. */
  readonly hosts: readonly string[];
  /** Variables that name another address for it, as a URL. */
  readonly variables: readonly string[];
}

interface SignIn {
  readonly command: string;
  /** Any of these variables signs in. */
  readonly keys: readonly string[];
  /** Any of these files under the home folder means signed in. */
  readonly files: readonly string[];
  /** True where a sign-in may be stored somewhere unreadable to us (a keychain). */
  readonly hidden: boolean;
}

/** What a program reads in a folder and learns from it what it may run: settings, hooks, permissions, servers, plugins. */
export interface ProgramSettings {
  readonly files: readonly string[];
  /** With all that lies in them. */
  readonly folders: readonly string[];
  /** Files with instructions for its model. */
  readonly instructions: readonly string[];
  /** Variables that it takes from a file of the project's own, which a command may write. */
  readonly variables: readonly string[];
  /** A folder of packages that code in other folders of its settings loads, and which those are. */
  readonly packages?: { readonly folder: string; readonly loadedBy: readonly string[] };
  /** It asks about an unknown folder, where a person sits at it. */
  readonly asksItself: boolean;
}
