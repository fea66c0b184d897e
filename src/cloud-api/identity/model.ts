/** Rules of one-time codes and sessions. Pure. */
import { hash } from 'node:crypto';

export const codeLifeMs = 10 * 60 * 1000;
/** A session ends after a week without use, and after a month in any case. */
export const sessionIdleMs = 7 * 24 * 3600 * 1000;
export const sessionLifeMs = 30 * 24 * 3600 * 1000;
/** Use is recorded at most this often. */
export const sessionTouchMs = 3600 * 1000;

export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Prefix of the credential that a paired computer's own server sends, so that it can be recognised. */
export const homePrefix = 'gantry_home_';

/**
 * Over https the name itself makes the browser insist on Secure, on this host only and on no other path. Over http, each port of one host has its own
 * name, since cookies ignore ports.
 */
export function cookieNameFor(origin: string): string {
  const url = new URL(origin);
  return url.protocol === 'https:' ? '__Host-gantry' : `gantry_${url.port || '80'}`;
}

/** `Set-Cookie` for a cookie that no page can read. */
export function cookieText(
  origin: string,
  { name, value, sameSite, maxAgeS }: { name: string; value: string; sameSite: 'Strict' | 'Lax'; maxAgeS: number },
): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${maxAgeS}${secure}`;
}

/** The value that a page must send back in `x-platform-csrf`. Derived from the cookie, which no page can read. */
export function csrfOf(secret: string): string {
  return hash('sha256', `csrf:${secret}`, 'base64url');
}

/** A browser sends all cookies of one name: a program on another port of this host can set one for its own path. */
const maxPerName = 10;

/** All of that name, in the order received. */
export function readCookies(header: string | undefined, name: string): string[] {
  const found = (header ?? '').split(';').flatMap((part) => {
    const at = part.indexOf('=');
    return at !== -1 && part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : [];
  });
  return found.slice(0, maxPerName);
}

/** Always a path on this server: never another origin, never a scheme. */
export function localPath(next: string | undefined): string {
  if (next === undefined || !/^\/(?![/\\])[^\\\u0000-\u001f]*$/.test(next)) return '/';
  const base = 'http://local.invalid';
  if (!URL.canParse(next, base)) return '/';
  const url = new URL(next, base);
  // Resolving dots may leave two slashes at the beginning: to a browser that is another host.
  const isLocal = url.origin === base && !url.pathname.startsWith('//');
  return isLocal ? url.pathname + url.search + url.hash : '/';
}
