/** A person in a separate browser, signed in at a cloud: sends requests as its page does. */
import { signInAs } from './oidc-provider.ts';

/** Fails on any answer but 2xx, with the answer in the message. */
export type Person = <T>(method: string, path: string, body?: unknown) => Promise<T>;

export async function personAt(origin: string, name = 'ada'): Promise<Person> {
  const cookie = await signInAs(name, origin);
  let csrf = '';
  const call: Person = async <T>(method: string, path: string, body?: unknown) => {
    const headers = { cookie, 'x-platform-csrf': csrf, 'content-type': 'application/json' };
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  csrf = (await call<{ csrf: string }>('GET', '/api/v1/session')).csrf;
  return call;
}
