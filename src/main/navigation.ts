/** What the desktop window may show and do: decided here, wired in `shell.ts`. Pure; electron only as types. */
import type { BrowserWindowConstructorOptions } from 'electron';
import { smallest } from './bounds.ts';

export function mayNavigate(target: string, origin: string): boolean {
  return URL.canParse(target) && new URL(target).origin === origin;
}

/** Address for the person's own browser or mail program; null for every other scheme. */
export function externalTarget(target: string): string | null {
  if (!URL.canParse(target)) return null;
  const url = new URL(target);
  return url.protocol === 'https:' || url.protocol === 'mailto:' ? url.href : null;
}

const allowed: ReadonlySet<string> = new Set(['notifications', 'clipboard-sanitized-write']);

export function mayUse(permission: string, requester: string, origin: string): boolean {
  return allowed.has(permission) && mayNavigate(requester, origin);
}

export function windowOptions(preload: string): BrowserWindowConstructorOptions {
  return {
    minWidth: smallest.width,
    minHeight: smallest.height,
    title: 'Gantry',
    show: false,
    autoHideMenuBar: true,
    webPreferences: { preload, contextIsolation: true, sandbox: true, nodeIntegration: false, webviewTag: false },
  };
}

/** Name and value of the session cookie in the answer to a one-time address; null when the code was not taken. */
export function sessionCookie(setCookies: readonly string[]): { name: string; value: string } | null {
  for (const line of setCookies) {
    const pair = line.split(';')[0] ?? '';
    const at = pair.indexOf('=');
    if (at > 0 && /;\s*httponly/i.test(line))
      return { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() };
  }
  return null;
}
