/** A route of a running Gantry as a program of its owner calls it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gantry } from './gantry.ts';

export async function ownerCall<T = { id: string }>(
  { origin, home }: Pick<Gantry, 'origin' | 'home'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const token = readFileSync(join(home, 'token'), 'utf8').trim();
  const answer = await fetch(`${origin}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}
