/** Standard Webhooks as its text says, and the POST of one message. No redirects, and ten seconds. */
import { createHmac } from 'node:crypto';

/** How long a receiver may take to answer, in milliseconds. */
export const answerWithin = 10_000;

/** `whsec_` and base64 of 24 to 64 bytes; undefined where it is not that. */
export function secretBytes(secret: string): Buffer | undefined {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined;
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
}

/** `seconds` is the time of the message in seconds since 1970. Every key signs, newest first. */
export function signature(keys: readonly Buffer[], id: string, seconds: number, body: string): string {
  return keys
    .map((key) => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`)
    .join(' ');
}

export type PostFault = 'connection_refused' | 'timeout' | 'tls_error' | 'http_4xx' | 'http_5xx';

export interface Message {
  readonly url: string;
  readonly id: string;
  readonly seconds: number;
  readonly body: string;
  /** The header's value; undefined sends none. */
  readonly signature: string | undefined;
  readonly subscriptionId: string;
}

export interface PostAnswer {
  /** 0: nobody answered. */
  readonly status: number;
  readonly fault?: PostFault;
  readonly text: string;
}

export async function post(message: Message, timeout = answerWithin): Promise<PostAnswer> {
  try {
    const answer = await fetch(message.url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
      headers: {
        'content-type': 'application/json',
        'webhook-id': message.id,
        'webhook-timestamp': String(message.seconds),
        ...(message.signature === undefined ? {} : { 'webhook-signature': message.signature }),
        'x-mcp-subscription-id': message.subscriptionId,
      },
      body: message.body,
    });
    const text = (await answer.text()).slice(0, 4_096);
    if (answer.ok) return { status: answer.status, text };
    return { status: answer.status, text, fault: answer.status >= 500 ? 'http_5xx' : 'http_4xx' };
  } catch (error) {
    return { status: 0, text: '', fault: faultOf(error) };
  }
}

function faultOf(error: unknown): PostFault {
  if (error instanceof Error && error.name === 'TimeoutError') return 'timeout';
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /CERT|TLS|SSL|SELF_SIGNED/.test(code) ? 'tls_error' : 'connection_refused';
}
