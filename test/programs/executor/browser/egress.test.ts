// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { browserOf, renderersOf } from '../processes.ts';
import { hasChromium } from './has-chromium.ts';

let driver: Driver;
let site: Site;
let forbidden: Site;
const place = { kind: 'browser', session: 'one' } as const;

describe.skipIf(!hasChromium())('ways out and ends', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    [site, forbidden] = await Promise.all([startSite(), startSite()]);
    forbidden.pages.set('/', () => reached.push('page'));
    driver = await startDriver();
    driver.allow = ({ port }) => ({ allow: port !== forbidden.port, why: 'It is not public.' });
    await driver.open({ trace: driver.folder });
  }, 60_000);
  afterAll(async () => {
    await driver.end();
    await Promise.all([site.close(), forbidden.close()]);
  });
  const reached: string[] = [];

  it('refuses what is neither http nor https before it starts, and what the gate refuses', async () => {
    site.pages.set('/', '<title>Here</title>');
    await driver.act('navigate', { url: site.origin });
    const before = driver.questions.length;
    for (const url of [
      'file:///etc/passwd',
      'chrome://settings',
      'view-source:http://127.0.0.1/',
      'data:text/html,hello',
      'javascript:document.title="no"',
      'about:settings',
      ' FILE:///etc/passwd',
      'blob:http://127.0.0.1/1',
      'ftp://example.com/',
      'devtools://devtools/bundled/inspector.html',
      'http://user:secret@127.0.0.1/',
    ])
      expect(await driver.fault('navigate', { url }), url).toMatchObject({
        sort: 'refused',
        code: 'navigation_refused',
      });
    expect(driver.questions).toHaveLength(before);
    expect(await driver.value('document.title')).toBe('Here');
    const refused = await driver.fault('navigate', { url: forbidden.origin });
    expect(refused).toMatchObject({ sort: 'refused', code: 'navigation_refused' });
    expect(refused.message).toContain('It is not public.');
    expect(await driver.fault('navigate', { url: forbidden.origin.replace('http', 'https') })).toMatchObject({
      code: 'navigation_refused',
    });
    expect(reached).toEqual([]);
    expect(await driver.fault('navigate', { url: 'http://' })).toMatchObject({ code: 'navigation_failed' });
    await driver.act('navigate', { url: 'about:blank' });
  });

  it('everything that a page asks for goes the same way: pictures, scripts, redirects, frames, sockets', async () => {
    site.pages.set('/away', (_request, response) => {
      response.writeHead(302, { location: `${forbidden.origin}/` });
      response.end();
    });
    site.pages.set(
      '/',
      `<title>Here</title><img src="${forbidden.origin}/a.png"><iframe src="${forbidden.origin}/"></iframe><iframe src="/away"></iframe>`,
    );
    for (const path of ['/a.png', '/b', '/ws']) forbidden.pages.set(path, () => reached.push(path));
    await driver.act('navigate', { url: site.origin });
    const outcome = await driver.value(`Promise.all([
      fetch('${forbidden.origin}/b', { mode: 'no-cors' }).then(() => 'came', () => 'no'),
      new Promise((done) => { const s = new WebSocket('ws://127.0.0.1:${forbidden.port}/ws'); s.onopen = () => done('open'); s.onerror = () => done('no') }),
    ]).then((all) => all.join())`);
    expect(outcome).toMatch(/,no$/);
    expect(await driver.fault('navigate', { url: `${site.origin}/away` })).toMatchObject({
      code: 'navigation_refused',
    });
    expect(reached).toEqual([]);
  });

  it('a socket that may be opened works', async () => {
    const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await new Promise((done) => sockets.once('listening', done));
    sockets.on('connection', (socket) => socket.on('message', (said) => socket.send(`heard ${said}`)));
    const { port } = sockets.address() as { port: number };
    site.pages.set('/', '<title>Here</title>');
    await driver.act('navigate', { url: site.origin });
    const said = await driver.value(`new Promise((done) => { const s = new WebSocket('ws://127.0.0.1:${port}/');
      s.onopen = () => s.send('ü'); s.onmessage = (e) => done(e.data); s.onerror = () => done('error') })`);
    sockets.close();
    expect(said).toBe('heard ü');
  });

  it('saves a trace, more than once', async () => {
    for (const name of ['one.zip', 'two.zip']) {
      const file = join(driver.folder, name);
      const { head } = await driver.send({ do: 'trace', session: 'one', file });
      expect(head).toMatchObject({ ok: true, file });
      expect(existsSync(file)).toBe(true);
    }
  });

  it('a page that crashes ends the session, and the next one has the same profile', async () => {
    site.pages.set('/', '<title>Here</title>');
    await driver.act('navigate', { url: site.origin });
    await driver.value("localStorage.kept = 'yes'");
    // Written behind the page's back, a little later.
    await driver.act('wait', { duration: 1 });
    const during = driver.fault('wait', { duration: 20 }, 25_000);
    const crash = driver.fault('navigate', { url: 'about:blank' });
    for (const pid of renderersOf(driver.child.pid!)) process.kill(pid, 'SIGKILL');
    expect(await during).toMatchObject({ sort: 'device', code: 'browser_crashed' });
    expect(await crash).toMatchObject({ sort: 'device', code: 'browser_crashed' });
    expect(driver.events).toContainEqual(expect.objectContaining({ event: 'gone', place }));
    await driver.open();
    await driver.act('navigate', { url: site.origin });
    expect(await driver.value('localStorage.kept')).toBe('yes');
  });

  it('a browser that is killed is told at once, and is started again', async () => {
    const before = driver.events.filter(({ event }) => event === 'gone').length;
    process.kill(browserOf(driver.child.pid!), 'SIGKILL');
    await expect.poll(() => driver.events.filter(({ event }) => event === 'gone').length).toBe(before + 1);
    expect(await driver.fault('screenshot')).toMatchObject({ sort: 'device', code: 'browser_crashed' });
    await driver.open();
    await driver.act('navigate', { url: site.origin });
  });

  it('a session that is closed is not open, and its profile goes when that was asked for', async () => {
    await driver.send({ do: 'close', session: 'one', wipe: true });
    expect(existsSync(join(driver.folder, 'profile'))).toBe(false);
    expect(await driver.fault('screenshot')).toMatchObject({ sort: 'device', code: 'session_not_open' });
  });
});

describe.skipIf(!hasChromium())('the program', { timeout: 60_000 }, () => {
  it('takes its browsers along when its stdin ends, and when it is killed', async () => {
    for (const how of ['end', 'kill'] as const) {
      const one = await startDriver();
      await one.open();
      const browser = browserOf(one.child.pid!);
      if (how === 'kill') one.child.kill('SIGKILL');
      await one.end();
      await expect.poll(() => existsSync(`/proc/${browser}`)).toBe(false);
    }
  });

  it('says what to install where there is no Chromium', async () => {
    const one = await startDriver({ CHROMIUM: '/nowhere/chromium' });
    await expect(one.open()).rejects.toThrow(/display_unavailable: CHROMIUM names \/nowhere\/chromium/);
    await one.end();
  });
});
