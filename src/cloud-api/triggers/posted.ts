/**
 * Reads a post to a trigger: its data, and the mark by which the sender identifies a repeated event. Knows senders with marks of their own. Pure.
 * Must not know keys, lanes or HTTP servers.
 */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

interface Posted {
  readonly data: unknown;
  /** Null: two equal posts may be two events. */
  readonly mark: string | null;
  /** Before it sends events, Slack asks once that the address answers with this. */
  readonly challenge: string | null;
}

const utf8 = new TextDecoder('utf-8');

export function readPosted(headers: IncomingHttpHeaders, bytes: Buffer): Posted {
  const data = dataOf(headers, utf8.decode(bytes));
  return { data, mark: markOf(headers, data, bytes), challenge: challengeOf(headers, data) };
}

/** JSON as its value, a form as its fields, anything else as text. */
function dataOf(headers: IncomingHttpHeaders, text: string): unknown {
  if (/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')) return formOf(text);
  return parsed(text) ?? (text.trim() === 'null' ? null : { text });
}

/** Undefined: not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

/** GitHub and Slack put JSON into a field named payload. A field that comes several times is a list. */
function formOf(text: string): unknown {
  const fields = new URLSearchParams(text);
  const names = [...new Set(fields.keys())];
  const payload = names.length === 1 && names[0] === 'payload' ? parsed(fields.get('payload') ?? '') : undefined;
  if (payload !== undefined) return payload;
  return Object.fromEntries(
    names.map((name) => {
      const values = fields.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

function challengeOf(headers: IncomingHttpHeaders, data: unknown): string | null {
  if (headers['x-slack-signature'] === undefined || typeof data !== 'object' || data === null) return null;
  const { type, challenge } = data as Record<string, unknown>;
  return type === 'url_verification' && typeof challenge === 'string' ? challenge : null;
}

function markOf(headers: IncomingHttpHeaders, data: unknown, bytes: Buffer): string | null {
  const header = (name: string) => {
    const given = headers[name];
    return typeof given === 'string' && given !== '' ? given : null;
  };
  const field = (name: string) => {
    const value = typeof data === 'object' && data !== null ? (data as Record<string, unknown>)[name] : null;
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const named = header('webhook-id') ?? header('idempotency-key');
  if (named !== null) return named;
  const github = header('x-github-delivery');
  if (github !== null) return `github ${github}`;
  const gitlab = header('x-gitlab-event-uuid');
  // Events with one cause share its mark: they are the same event only if their content is equal, too.
  if (gitlab !== null) return `gitlab ${gitlab} ${hash('sha256', bytes, 'hex')}`;
  if (header('stripe-signature') !== null && field('id') !== null) return `stripe ${field('id')}`;
  if (header('x-slack-signature') !== null && field('event_id') !== null) return `slack ${field('event_id')}`;
  return null;
}
