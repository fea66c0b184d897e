/**
 * Starts the person's Chromium with a profile of its own, and with nothing that would go past the proxy. Must not know sessions.
 */
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { HandsFault } from '../hands.ts';

export interface LaunchOptions {
  readonly profile: string;
  /** For what has not arrived whole yet; on the disk where it is to be. */
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

const names = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
  'brave-browser',
];
const elsewhere: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
};

/** `CHROMIUM`, or the first that the path or the usual places have. Throws a fault that says what to install. */
export async function findChromium(env: LaunchOptions['env']): Promise<string> {
  const wanted = env.CHROMIUM;
  if (wanted !== undefined && wanted !== '') {
    if (await isProgram(wanted)) return wanted;
    throw new HandsFault('device', 'display_unavailable', `CHROMIUM names ${wanted}, which cannot be run.`);
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const places = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  for (const place of [...places, ...(elsewhere[process.platform] ?? [])]) if (await isProgram(place)) return place;
  throw new HandsFault(
    'device',
    'display_unavailable',
    'There is no Chromium or Chrome on this computer. Install one, or name it with CHROMIUM.',
  );
}

/** Throws a device fault `browser_crashed` where it does not start. */
export async function launchChromium(options: LaunchOptions): Promise<BrowserContext> {
  // Loaded with the first session: a desktop alone pays nothing for it.
  const { chromium } = await import('playwright-core');
  const executablePath = await findChromium(options.env);
  await mkdir(options.profile, { recursive: true, mode: 0o700 });
  await mkdir(options.partial, { recursive: true, mode: 0o700 });
  // Chromium refuses to run as root with its sandbox on.
  const asRoot = process.getuid?.() === 0;
  if (asRoot) console.error('Chromium runs as root and therefore without its own sandbox.');
  try {
    return await chromium.launchPersistentContext(options.profile, {
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
  } catch (error) {
    const why = (error as Error).message.split('\n').slice(0, 3).join(' ').slice(0, 500);
    throw new HandsFault('device', 'browser_crashed', `Chromium did not start: ${why}`);
  }
}

async function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Without a locale of Unicode, Chromium loses files whose names have more than ASCII. */
function environmentOf(env: LaunchOptions['env']): Record<string, string> {
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return { ...Object.fromEntries(given), ...(/utf-?8/i.test(locale) ? {} : { LC_ALL: 'C.UTF-8' }) };
}
