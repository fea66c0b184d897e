// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { hasChromium } from './has-chromium.ts';

const withoutFfmpeg = spawnSync('sh', ['-c', 'command -v ffmpeg']).status !== 0;
if (withoutFfmpeg) console.warn('Videos are not tested: ffmpeg is not installed here.');

describe.skipIf(!hasChromium() || withoutFfmpeg)('a video of a session', { timeout: 60_000 }, () => {
  let driver: Driver;
  let site: Site;
  const place = { kind: 'browser', session: 'one' } as const;
  const record = (file: string, stop: boolean) => driver.send({ do: 'record', place, file, stop });
  beforeAll(async () => {
    site = await startSite();
    site.pages.set('/', '<!doctype html><title>Film</title><body><h1>still</h1>');
    driver = await startDriver();
    await driver.open();
    await driver.act('navigate', { url: site.origin });
  }, 60_000);
  afterAll(async () => {
    await driver?.end();
    await site?.close();
  });

  it('is one that a browser plays, also of a page on which nothing changed, and sends no frames to anybody', async () => {
    const file = join(driver.folder, 'still.webm');
    expect((await record(file, false)).head).toMatchObject({ ok: true });
    await driver.act('wait', { duration: 1 });
    expect((await record(file, true)).head).toMatchObject({ ok: true, file });
    expect(driver.events.some(({ event }) => event === 'frame')).toBe(false);
    const data = readFileSync(file).toString('base64');
    const playing = `new Promise((done) => {
      const video = document.createElement('video');
      video.onloadeddata = () => done(video.videoWidth + ' x ' + video.videoHeight);
      video.onerror = () => done('not playable');
      video.src = 'data:video/webm;base64,${data}';
    })`;
    expect(await driver.value(playing)).toBe('1280 x 800');
  });

  it('goes on while somebody starts and stops to look, and is whole after its session was closed', async () => {
    const file = join(driver.folder, 'closed.webm');
    await record(file, false);
    await driver.send({ do: 'watch', place, fps: 5 });
    await expect.poll(() => driver.events.some(({ event }) => event === 'frame')).toBe(true);
    await driver.send({ do: 'watch', place, fps: 0 });
    await driver.value("document.body.style.background = 'red'; 1");
    // A film tells nobody of its frames: time for some while nobody looks.
    await later(300);
    await driver.send({ do: 'close', session: 'one', wipe: false });
    expect((await record(file, true)).head).toMatchObject({ ok: true, file });
    expect(existsSync(file)).toBe(true);
    expect((await record(file, true)).head).toMatchObject({ ok: true, file: null });
  });
});
