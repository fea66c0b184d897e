/** Starts the person's Chromium with a separate profile, and with nothing that would bypass the proxy. Must not know sessions. */
import { mkdir } from 'node:fs/promises';
import type { BrowserContext } from 'playwright-core';
import { findChromium } from '../../../kit/process/find-chromium.ts';
import { HandsFault } from '../hands.ts';

interface LaunchOptions {
  readonly profile: string;
  /** Folder for incomplete downloads, on the same disk as their destination. */
  readonly partial: string;
  readonly headless: boolean;
  /** `host:port`; everything goes through it. */
  readonly proxy: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Of a browser without a window; a window is as large as its display lets it be. Pixels. */
export const viewport = { width: 1280, height: 800 } as const;
/** Milliseconds. A machine under load takes seconds; one that cannot says so long before. */
const launchMs = 30_000;

/** Throws a device fault `browser_crashed` where it does not start. */
export async function launchChromium(options: LaunchOptions): Promise<BrowserContext> {
  // Loaded with the first session, so that a desktop without browsers does not pay for it.
  const { chromium } = await import('playwright-core');
  const found = findChromium(options.env);
  if ('missing' in found) throw new HandsFault('device', 'display_unavailable', found.missing);
  const executablePath = found.path;
  await mkdir(options.profile, { recursive: true, mode: 0o700 });
  await mkdir(options.partial, { recursive: true, mode: 0o700 });
  // Chromium refuses to run as root with its sandbox on.
  const asRoot = process.getuid?.() === 0;
  if (asRoot) console.error('Chromium runs as root and therefore without its own sandbox.');
  try {
    const context = await chromium.launchPersistentContext(options.profile, {
      executablePath,
      headless: options.headless,
      chromiumSandbox: !asRoot,
      viewport: options.headless ? viewport : null,
      acceptDownloads: true,
      downloadsPath: options.partial,
      timeout: launchMs,
      handleSIGHUP: false,
      handleSIGINT: false,
      handleSIGTERM: false,
      env: environmentOf(options.env),
      args: [
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-quic',
        '--no-first-run',
        '--no-default-browser-check',
        '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
        '--webrtc-ip-handling-policy=disable_non_proxied_udp',
        '--dns-prefetch-disable',
        `--proxy-server=http://${options.proxy}`,
        // Loopback as well.
        '--proxy-bypass-list=<-loopback>',
        ...(options.headless ? [] : ['--start-maximized']),
      ],
    });
    await context.addInitScript(openClosedRoots);
    return context;
  } catch (error) {
    const why = (error as Error).message.split('\n').slice(0, 3).join(' ').slice(0, 500);
    throw new HandsFault('device', 'browser_crashed', `Chromium did not start: ${why}`);
  }
}

/** Without a locale of Unicode, Chromium loses files whose names have more than ASCII. */
function environmentOf(env: LaunchOptions['env']): Record<string, string> {
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return { ...Object.fromEntries(given), ...(/utf-?8/i.test(locale) ? {} : { LC_ALL: 'C.UTF-8' }) };
}

function openClosedRoots(): void {
  // A proxy prints as what it stands for: scripts that look whether this is the browser's own function find that it is.
  Element.prototype.attachShadow = new Proxy(Element.prototype.attachShadow, {
    apply: (attach, host, [init, ...more]) =>
      Reflect.apply(attach, host, [init?.mode === 'closed' ? { ...init, mode: 'open' } : init, ...more]),
  });
}
