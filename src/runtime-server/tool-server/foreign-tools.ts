/**
 * Tools and prompts of attached servers, as the registry sees them: lists to show and a way to call. Must not know policy, which the caller has
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
    options: { readonly signal: AbortSignal },
  ): Promise<ToolResult>;
}
