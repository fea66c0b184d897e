/** Turns a person's input into the arguments of a call, as fields or as JSON. Pure. */

import { type FormSchema, jsonProblem, problemsOf, textsOf, valuesOf } from '../../ui/schema-fields.ts';
import type { ToolDraft } from './tool-calls.ts';

interface Arguments {
  /** By path of the field; of the JSON under `''`. */
  readonly problems: Readonly<Record<string, string>>;
  /** Null while there are problems. */
  readonly values: Record<string, unknown> | null;
}

export function argumentsOf(schema: FormSchema | null, draft: ToolDraft): Arguments {
  if (draft.json === null && schema !== null) {
    const problems = problemsOf(schema, draft.texts);
    return { problems, values: Object.keys(problems).length === 0 ? valuesOf(schema, draft.texts) : null };
  }
  const text = draft.json ?? '{}';
  const problem = text.trim() === '' ? null : jsonProblem(text);
  if (problem !== null) return { problems: { '': problem }, values: null };
  const value = text.trim() === '' ? {} : (JSON.parse(text) as unknown);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problems: { '': 'Must be an object: { "name": value }.' }, values: null };
  }
  return { problems: {}, values: value as Record<string, unknown> };
}

/** The fields as JSON, as far as they can be read. */
export function asJson(schema: FormSchema, draft: ToolDraft): ToolDraft {
  const { values } = argumentsOf(schema, draft);
  return { texts: draft.texts, json: values === null ? (draft.json ?? '{}') : JSON.stringify(values, null, 2) };
}

/** The JSON in the fields; null: there is something in it that has no field. */
export function asFields(schema: FormSchema, draft: ToolDraft): ToolDraft | null {
  const { values } = argumentsOf(null, draft);
  if (values === null) return null;
  const texts = textsOf(schema, values);
  // Nothing that was written may be lost on the way: what the fields come to must say all of it.
  return holds(valuesOf(schema, texts), values) ? { texts, json: null } : null;
}

/** Whether everything in `part` is in `whole`, the same. */
function holds(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null || typeof whole !== 'object' || whole === null) return whole === part;
  if (Array.isArray(part) !== Array.isArray(whole)) return false;
  if (Array.isArray(part) && part.length !== (whole as unknown[]).length) return false;
  return Object.entries(part).every(([name, value]) => holds((whole as Record<string, unknown>)[name], value));
}
