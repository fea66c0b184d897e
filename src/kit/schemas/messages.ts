/** The messages between a schema checker and its thread, and the bounds of both. */

export interface SchemaVerdict {
  readonly ok: boolean;
  /** What does not match, or why the schema cannot be used, in a sentence; null if it matches. */
  readonly problem: string | null;
  /** True: the schema itself is refused, whatever the value. */
  readonly unusable: boolean;
}

/** Both as JSON. */
export interface ToThread {
  readonly schema: string;
  readonly value: string;
}

/**
 * `begun`: a step (compilation or check) begins, and its time counts from here. `spentMs`: the thread's computing time since its start, milliseconds.
 */
export type FromThread =
  | { readonly kind: 'begun'; readonly spentMs: number }
  | ({ readonly kind: 'done' } & SchemaVerdict);

/** The longest schema, as JSON, in bytes. */
export const maxSchemaLength = 64 * 1024;
/** Limit of a value as JSON, bytes: somewhat more than an event may have. */
export const maxValueLength = 1024 * 1024;
/** Nesting levels of a schema and of a value. */
export const deepest = 64;

export const fits: SchemaVerdict = { ok: true, problem: null, unusable: false };
export const misfit = (problem: string): SchemaVerdict => ({ ok: false, problem, unusable: false });
export const unusable = (problem: string): SchemaVerdict => ({ ok: false, problem, unusable: true });
