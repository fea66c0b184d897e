/**
 * Tools and prompts of attached servers, as the registry sees them: lists to show, a way to call, and what a call may ask for on its way. Must not know policy, which the caller has
 * already asked, nor how a server is reached.
 */

import type { z } from 'zod';
import type { ToolAnnotations, ToolResult } from '../../contracts/tool-server/tools.ts';

export interface ForeignTool {
  /** `<server>.<tool>` */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** JSON Schema 2020-12, without `$schema`. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The server's own: shown to clients, trusted by no decision. */
  readonly annotations?: z.infer<typeof ToolAnnotations>;
  /** Name of the attached server. */
  readonly server: string;
}

export interface ForeignPrompt {
  /** `<server>.<prompt>` */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** Name of the attached server. */
  readonly server: string;
}

/** A server's answer for a prompt: messages whose content every client can read. */
export interface FilledPrompt {
  readonly description?: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
}

export interface ForeignPrompts {
  /** The prompts of all enabled servers, by name in byte order. Never waits. */
  list(): readonly ForeignPrompt[];
  /** Throws an error made for a person where the server cannot or does not answer. */
  get(
    name: string,
    args: Readonly<Record<string, string>>,
    options: { readonly signal: AbortSignal },
  ): Promise<FilledPrompt>;
}

/** A task that an attached server made of a call. */
export interface ForeignTask {
  /** Id of the attached server. */
  readonly server: string;
  /** As the server calls it. */
  readonly taskId: string;
  /** The program or address that made it, as `placeOf` says it. Tasks of earlier versions have none. */
  readonly place?: string;
}

/** What a server asks the person before it goes on: answered by a yes, whose note holds the values, or a no. */
export interface ForeignQuestion {
  /** A few words; the server is named. */
  readonly title: string;
  /** Everything that the server says, and how the note is read. */
  readonly summary: string;
}

/** `ended`: there is no answer, and why. */
export type ForeignAnswer =
  | { readonly kind: 'approve' | 'reject'; readonly note: string | null }
  | { readonly kind: 'ended'; readonly why: string };

/** What the caller of a foreign tool can do beside waiting for its result. */
export interface ForeignPort {
  /** The server may make a task of the call: this keeps where it is, and then the call is followed to its end. Absent: no call outlives its deadline. */
  readonly began?: (task: ForeignTask) => Promise<void>;
  /** What the server says about its task. */
  readonly says?: (message: string) => void;
  /** Asks the person; `signal` withdraws the question. Absent: the server hears that no person can answer. */
  readonly ask?: (question: ForeignQuestion, signal: AbortSignal) => Promise<ForeignAnswer>;
}

/** The reason of a signal by which Gantry ends: a task at a server goes on there. Any other reason cancels it. */
export const leaves = 'Gantry ends';

export interface ForeignTools {
  /**
   * The last good lists of all enabled servers, also of those that cannot be reached now; by name in byte order, the same array
   * as long as `revision` is the same. Never waits.
   */
  list(): readonly ForeignTool[];
  /** Absent: nothing that is attached has any. They change with {@link ForeignTools.revision}. */
  readonly prompts?: ForeignPrompts;
  /** Grows with each change of the list. */
  readonly revision: number;
  /**
   * Never throws: an unknown name, bad arguments, a server that is gone or too slow are results with `isError`, in words that name
   * the server. Ends the call at the server when `signal` aborts. Never repeats what may have been done.
   */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: ForeignPort & { readonly signal: AbortSignal },
  ): Promise<ToolResult>;
  /** The result of a task of an earlier process, under the same promises. `name`: the tool, for words. */
  follow(name: string, task: ForeignTask, options: ForeignPort & { readonly signal: AbortSignal }): Promise<ToolResult>;
}
