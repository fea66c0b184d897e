// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { hasChromium } from './has-chromium.ts';

let driver: Driver;
let site: Site;

async function show(body: string): Promise<void> {
  site.pages.set('/', `<!doctype html><meta charset=utf-8><title>Page</title><body>${body}`);
  await driver.act('navigate', { url: site.origin });
}
const by = (ref: string) => ({ type: 'ref', ref });
const click = async (name: RegExp) => driver.act('left_click', { target: by(await driver.ref(name)) });

describe.skipIf(!hasChromium())('tabs and what comes with pages', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    site = await startSite();
    driver = await startDriver();
    await driver.open();
  }, 60_000);
  afterAll(async () => {
    await driver.end();
    await site.close();
  });

  it('opens, lists, changes and closes tabs; one of them is always the active one', async () => {
    await show('<a href="/two" target=_blank>Other</a>');
    site.pages.set('/two', '<title>Two</title>second');
    const opened = (await click(/"Other"/)).acted.browser_state!;
    expect(opened.state_changes).toEqual([expect.objectContaining({ type: 'tab_opened' })]);
    expect(opened.tabs.map((tab) => [tab.title, tab.active])).toEqual([
      ['Page', false],
      ['Two', true],
    ]);
    const [first, second] = opened.tabs.map((tab) => tab.tab_id);
    expect((await driver.act('get_page_text', { tab_id: first })).acted.text).toContain('Other');
    await driver.act('switch_tab', { tab_id: first });
    expect(await driver.value('document.title')).toBe('Page');
    const third = (await driver.act('new_tab')).acted.browser_state!;
    expect(third.tabs).toHaveLength(3);
    expect(third.tabs.filter((tab) => tab.active)).toEqual([expect.objectContaining({ url: 'about:blank' })]);
    await driver.act('close_tab', { tab_id: third.tabs.at(-1)!.tab_id });
    await driver.act('close_tab', { tab_id: second });
    expect(await driver.fault('switch_tab', { tab_id: second })).toMatchObject({ sort: 'page', code: 'tab_not_found' });
    const last = (await driver.act('close_tab', { tab_id: first })).acted.browser_state!;
    expect(last.tabs).toEqual([expect.objectContaining({ url: 'about:blank', active: true })]);
    expect((await driver.act('list_tabs')).acted.browser_state!.tabs).toEqual(last.tabs);
  });

  it('refs of one tab are none of another', async () => {
    await show('<button>Here</button>');
    const ref = await driver.ref(/"Here"/);
    const tab = (await driver.act('new_tab')).acted.browser_state!.tabs.at(-1)!.tab_id;
    expect(await driver.fault('left_click', { target: by(ref) })).toMatchObject({ code: 'stale_ref' });
    await driver.act('close_tab', { tab_id: tab });
    await driver.act('left_click', { target: by(ref) });
  });

  it('no dialog holds a page up, and each is told', async () => {
    await show(
      `<button onclick="alert('Hello'); document.title = confirm('Sure?') + ' ' + prompt('Name?', 'x')">Ask</button>`,
    );
    const { acted } = await click(/"Ask"/);
    expect(acted.text).toContain('(alert): "Hello". It was accepted.');
    expect(acted.text).toContain('(confirm): "Sure?". It was dismissed.');
    expect(acted.text).toContain('(prompt): "Name?". It was dismissed.');
    expect(await driver.value('document.title')).toBe('false null');
    await driver.value("onbeforeunload = (e) => { e.preventDefault(); return 'stay' }; 1");
    await driver.act('left_click', { target: { type: 'coordinate', x: 5, y: 300 } });
    site.pages.set('/away', '<title>Away</title>');
    expect((await driver.act('navigate', { url: `${site.origin}/away` })).acted.text).toContain('is open');
  });

  it('reads what the page logged and asked for since the last time', async () => {
    await driver.act('read_console');
    await driver.act('read_network');
    site.pages.set('/data', '{}');
    await show(
      `<script>console.log('one', 1); console.error('bad'); fetch('/data'); fetch('/missing'); setTimeout(() => { throw new Error('late') })</script>`,
    );
    await expect.poll(async () => (await driver.act('read_console')).acted.text).toMatch(/\[uncaught\] late|late/);
    await expect.poll(() => driver.value("fetch('/data').then((one) => one.status)")).toBe('200');
    await expect
      .poll(async () => (await driver.act('read_network')).acted.text)
      .toContain(`GET 200 fetch ${site.origin}/data`);
    expect((await driver.act('read_console')).acted.text).not.toContain('one 1');
  });

  it('a page that does not come in time fails, and the tab can be used', async () => {
    site.pages.set('/never', () => {});
    site.pages.set('/half', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write('<title>Half</title><p>half of it</p><script src="/never"></script>');
    });
    expect(await driver.fault('navigate', { url: `${site.origin}/never` }, 2000)).toMatchObject({
      sort: 'page',
      code: 'navigation_failed',
    });
    await show('<p>fine</p>');
    expect((await driver.act('get_page_text')).acted.text).toContain('fine');
    expect(await driver.fault('navigate', { url: `${site.origin}/half` }, 2000)).toMatchObject({
      code: 'navigation_failed',
    });
    expect((await driver.act('get_page_text')).acted.text).toContain('half of it');
    expect((await driver.act('navigate', { url: `${site.origin}/missing` })).acted.text).toContain('It answered 404');
  });

  it('goes back, forward and again, and to what a form or a key leads to before the next action', async () => {
    site.pages.set('/slow', (_request, response) => setTimeout(() => response.end('<title>Slow</title>slow'), 400));
    await show('<form action="/slow"><input aria-label=Line></form>');
    await click(/"Line"/);
    const { acted } = await driver.act('key', { text: 'Return' });
    expect(acted.browser_state!.tabs.find((tab) => tab.active)!.url).toContain('/slow');
    expect((await driver.act('get_page_text')).acted.text).toContain('slow');
    await driver.act('navigate', { url: 'back' });
    expect(await driver.value('document.title')).toBe('Page');
    await driver.act('navigate', { url: 'forward' });
    expect(await driver.value('document.title')).toBe('Slow');
    await driver.value('here = 1');
    await driver.act('navigate', { url: 'reload' });
    expect(await driver.value('typeof here')).toBe('undefined');
  });

  it('keeps downloads in the folder of the session under names of its own making, and stops one that is too large', {
    timeout: 180_000,
  }, async () => {
    site.pages.set('/file', (_request, response) => {
      response.writeHead(200, { 'content-disposition': 'attachment; filename="../../re port.txt"' });
      response.end('contents');
    });
    site.pages.set('/huge', (_request, response) => {
      response.writeHead(200, {
        'content-disposition': 'attachment; filename="huge.bin"',
        'content-length': 1024 ** 3,
      });
      const block = Buffer.alloc(256 * 1024);
      const send = (): void => {
        while (!response.destroyed && response.write(block)) {}
      };
      response.on('drain', send);
      send();
    });
    await show('<a href="/file">File</a> <a href="/huge">Huge</a>');
    const folder = join(driver.folder, 'downloads');
    const changes: { type: string; path?: string }[] = [];
    const press = async (name: RegExp) => {
      changes.push(...(((await click(name)).acted.browser_state?.state_changes ?? []) as typeof changes));
    };
    const told = async () => {
      changes.push(...(((await driver.act('list_tabs')).acted.browser_state!.state_changes ?? []) as typeof changes));
      return changes.map(({ type }) => type);
    };
    await press(/"File"/);
    await expect.poll(told).toContain('download_completed');
    const { path } = changes.find(({ type }) => type === 'download_completed')!;
    expect(path!.startsWith(`${folder}/`)).toBe(true);
    expect(readFileSync(path!, 'utf8')).toBe('contents');
    await press(/"Huge"/);
    await expect.poll(told, { timeout: 120_000 }).toContain('download_failed');
    expect(driver.events).toContainEqual(expect.objectContaining({ event: 'download', state: 'failed' }));
    await expect.poll(() => readdirSync(join(folder, '.partial'))).toEqual([]);
    expect(existsSync(join(folder, 'huge.bin'))).toBe(false);
    expect((await driver.act('navigate', { url: `${site.origin}/file` })).acted.text).toContain('download');
  });

  it('makes pictures: the whole, a part enlarged, and frames of a view only while something changes', async () => {
    await show(`<div id=d style="position:absolute;left:0;top:0;width:100px;height:100px;background:#f00"></div>`);
    const shot = await driver.act('screenshot');
    expect(shot.acted.image).toEqual({ media_type: 'image/jpeg', width: 1280, height: 800 });
    expect(sizeOfJpeg(shot.bytes)).toEqual([1280, 800]);
    const part = await driver.act('zoom', { region: [0, 0, 100, 50] });
    expect(part.acted.image).toMatchObject({ media_type: 'image/png', width: 1280, height: 640 });
    const png = Buffer.from(part.bytes);
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1280, 640]);
    const place = { kind: 'browser', session: 'one' } as const;
    await driver.send({ do: 'watch', place, fps: 10 });
    const frames = () => driver.events.filter(({ event }) => event === 'frame').length;
    await expect.poll(frames).toBeGreaterThan(0);
    await driver.value("setInterval(() => { d.style.left = Math.random() * 500 + 'px' }, 30); 1");
    const before = frames();
    await expect.poll(frames).toBeGreaterThan(before + 3);
    await driver.send({ do: 'watch', place, fps: 0 });
  });
});

function sizeOfJpeg(bytes: Uint8Array): [number, number] {
  const jpeg = Buffer.from(bytes);
  for (let at = 2; ; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg[at + 1]!;
    if (marker >= 0xc0 && marker <= 0xc3) return [jpeg.readUInt16BE(at + 7), jpeg.readUInt16BE(at + 5)];
  }
}
