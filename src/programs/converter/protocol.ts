/**
 * The wire between the conversion program and its caller, over stdin and stdout, one document at a time: a frame `u32 length · head (JSON)` and then
 * as many bytes as the head says. Both ends import this file and nothing else of each other.
 */
import type { FaultCode } from './format.ts';

export { type Family, families } from './format.ts';
export { defaultDeadlineMs, heapMegabytes, largestInput, maxMarkdownLength, maxResidentBytes } from './limits.ts';

export interface RequestHead {
  readonly filename: string;
  readonly mimeType: string;
  /** Only documents of this family; null for all. */
  readonly family: string | null;
  readonly deadlineMs: number;
  /** Text in pictures is recognised. */
  readonly ocr: boolean;
  /** Steps are wanted, before the answer. */
  readonly follow: boolean;
  /** Bytes of the document, which follow. */
  readonly size: number;
}

export interface AnswerHead {
  /** Bytes of Markdown in UTF-8, which follow. */
  readonly size: number;
  readonly document?: {
    readonly kind: string;
    readonly family: string;
    readonly mimeType: string;
    readonly charset: string | null;
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly notes: readonly string[];
  };
  readonly fault?: { readonly code: FaultCode; readonly fact: string; readonly action: string };
  /** Bytes that the process takes now. */
  readonly resident: number;
}

/** How far a document is, in what its format counts. */
export interface Step {
  readonly done: number;
  readonly total: number;
  /** `pages`, `slides`, … */
  readonly unit: string;
}

/** Where steps are wanted: comes before the answer, any number of times. */
export interface StepHead {
  readonly size: 0;
  readonly step: Step;
}

/** What the program prints on stderr, alone on a line, before it ends itself. */
export const lastWords = {
  memory: 'converter: too much memory',
  orphan: 'converter: nobody is there any more',
} as const;

/** Bytes of one head; more is a fault of the other end. */
export const maxHeadLength = 1024 * 1024;
