/** The scenes of `reach.ts`, at the person's computer; prints one line a scene and ends with 1 when one fails. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { Computer } from '../../src/contracts/link/computers.ts';
import { scratchHome } from '../support/bench/product.ts';
import { cut, heal, type Place } from '../support/namespaces.ts';
import { openFirefox } from './reach-browser.ts';
import { command, urls } from './reach-places.ts';
import { type ReachComputer, startAround, startCloud, startComputer } from './reach-programs.ts';

const { cloud, here, there, claudeBin } = JSON.parse(process.env.GANTRY_REACH ?? '{}') as {
  readonly cloud: Place;
  readonly here: Place;
  readonly there: Place;
  /** Folder with the word `claude`. */
  readonly claudeBin: string;
};
/** As long as the link stays cut. */
const cutMs = 60_000;

let failed = 0;
async function scene(name: string, play: () => Promise<string>): Promise<void> {
  const from = performance.now();
  const took = () => `${((performance.now() - from) / 1000).toFixed(1)} s`;
  try {
    const words = await play();
    console.log(`ok   ${name} (${took()}): ${words}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name} (${took()}): ${(error as Error).message}`);
    const shown = (await firefox.words().catch(String)).slice(0, 2000);
    console.log(
      `     at ${page.url()}:\n${shown.replace(/^/gm, '     ')}\n     console: ${firefox.errors.join(' ## ')}`,
    );
    // What comes after needs what came before.
    throw error;
  }
}

async function until<T>(what: string, look: () => Promise<T | undefined | null | false>, ms = 30_000): Promise<T> {
  const end = performance.now() + ms;
  let last = '';
  while (performance.now() < end) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      last = `; ${(error as Error).message}`;
    }
    await delay(100);
  }
  throw new Error(`${what}: not within ${ms / 1000} s${last}`);
}

const around = await startAround(cloud, here, there);
const hosted = await startCloud(cloud);
const team = 'bots:\n  - bot: ops\n    harness: claude\n';
const homes = { here: scratchHome({ far: team }), there: scratchHome() };
writeFileSync(
  join(String(homes.there.env.HOME), '.claude.json'),
  JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark' }),
);
/** How Claude Code finds the model server, asks nobody else and gives up soon. */
const claudeEnv = {
  PATH: `${claudeBin}:${process.env.PATH}`,
  ANTHROPIC_BASE_URL: around.modelUrl,
  ANTHROPIC_AUTH_TOKEN: 'scripted',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: '1',
  CLAUDE_CODE_MAX_RETRIES: '1',
};
const computers = {
  here: await startComputer(here, homes.here),
  there: await startComputer(there, homes.there, claudeEnv),
};
const firefox = await openFirefox(`${urls.push.replace('http', 'ws')}/`);
const { page } = firefox;

/** As the page asks: with its cookie and its header. */
function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  return page.evaluate(
    async (how, where, what) => {
      const { csrf } = (await (await fetch('/api/v1/session')).json()) as { csrf: string };
      const answer = await fetch(where, {
        method: how,
        headers: { 'x-platform-csrf': csrf, ...(what === null ? {} : { 'content-type': 'application/json' }) },
        ...(what === null ? {} : { body: what }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${how} ${where}: ${answer.status} ${text}`);
      return (text === '' ? null : JSON.parse(text)) as never;
    },
    method,
    path,
    body === undefined ? null : JSON.stringify(body),
  );
}
const known = async () => (await ask<{ computers: Computer[] }>('GET', '/api/v1/computers')).computers;

try {
  await scene('a person signs in through the provider', async () => {
    await page.goto(urls.cloud);
    await firefox.click('Sign in');
    await firefox.click('login');
    await page.keyboard.type('ada');
    await firefox.click('password');
    await page.keyboard.type('any');
    await firefox.click('Sign-in');
    await firefox.click('Continue');
    await until('the page of Gantry', async () => page.url().startsWith(urls.cloud) && !page.url().includes('/login'));
    const me = await ask<{ name: string; mode: string; via: string }>('GET', '/api/v1/session');
    assert.deepEqual([me.name, me.mode, me.via], ['Ada', 'headless', 'cookie']);
    return `${firefox.version}, ${me.name} via ${me.via}`;
  });
} catch (error) {
  console.log((error as Error).stack);
}

await firefox.close();
void [existsSync, readdirSync, cut, heal, command, cutMs, known, computers as Record<string, ReachComputer>];
void (null as unknown as [Approval, Agent]);
hosted.remove();
await Promise.all([homes.here.remove(), homes.there.remove()]);
process.exit(failed === 0 ? 0 : 1);
