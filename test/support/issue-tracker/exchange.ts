/** The few words of HTTP that every part of the tracker needs. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Bytes; nothing that a tracker is sent is longer. */
const maxBodyLength = 1_000_000;

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += (part as Buffer).length;
    if (length > maxBodyLength) throw new Error('the body is too long');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString('utf8');
}

export async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(await bodyOf(request));
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  // First, since it may throw, and then somebody must still be answered.
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers }).end(text);
}

export function html(response: ServerResponse, status: number, title: string, body: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>
<style>body{font:15px system-ui;max-width:44rem;margin:2rem auto;padding:0 1rem}label{display:block;margin:.5rem 0}</style>
</head><body><main><h1>${escaped(title)}</h1>${body}</main></body></html>`);
}

export function redirect(response: ServerResponse, to: string): void {
  response.writeHead(302, { location: to, 'cache-control': 'no-store' }).end();
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
