/** Reads another program's output as an expected type; a value of another type counts as missing. Pure. */

type Json = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

export function record(value: unknown): Json {
  return objectOf(value) ?? {};
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Milliseconds since the epoch; null where it is no time. */
export function timeOf(value: unknown): number | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** A whole number of things; 0 for anything else. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

/** The object that a JSON text holds, or null. */
export function parseObject(json: string): Json | null {
  try {
    return objectOf(JSON.parse(json));
  } catch {
    return null;
  }
}
