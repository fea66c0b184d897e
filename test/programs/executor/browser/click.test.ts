// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
/** A click by the protocol is the library's own click, to the page and to what comes after it. */
import { type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directOf, innerOf } from '../../../../src/programs/executor/browser/direct.ts';
import { type Button, clickAt } from '../../../../src/programs/executor/browser/members.ts';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { hasChromium } from './has-chromium.ts';

const at = { x: 100, y: 50 };
const logging = `<!doctype html><body style="margin:0;height:400px"><button style="width:300px;height:200px">Press</button><script>
  heard = [];
  for (const name of ['pointermove', 'mousemove', 'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu'])
    addEventListener(name, (e) => heard.push([e.type, e.button, e.buttons, e.detail, e.pressure ?? null, e.clientX, e.clientY, e.isTrusted, e.shiftKey]));
</script>`;

describe.skipIf(!hasChromium())('a click', { timeout: 60_000 }, () => {
  let driver: Driver;
  let site: Site;
  let context: BrowserContext;
  let page: Page;
  let cdp: CDPSession;
  beforeAll(async () => {
    site = await startSite();
    driver = await startDriver();
    await driver.open();
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      chromiumSandbox: process.getuid?.() !== 0,
    });
    context = await browser.newContext();
    page = await context.newPage();
    cdp = await context.newCDPSession(page);
  }, 60_000);
  afterAll(async () => {
    await context.browser()?.close();
    await driver.end();
    await site.close();
  });

  const heardOf = async (click: () => Promise<unknown>) => {
    await page.setContent(logging);
    // Where the pointer came from is the same for both.
    await page.mouse.move(5, 300);
    await page.evaluate('heard.length = 0');
    await click();
    return page.evaluate('heard');
  };

  it.each([
    ['left', 1],
    ['left', 2],
    ['left', 3],
    ['right', 1],
    ['middle', 1],
  ] as [Button, number][])('%s, %i times: the page hears the same', async (button, times) => {
    const tab = { page, direct: directOf(cdp), pressed: false };
    const ours = await heardOf(() => clickAt(tab, at, { button, times, plain: true }));
    const theirs = await heardOf(() => page.mouse.click(at.x, at.y, { button, clickCount: times }));
    expect(ours).toEqual(theirs);
    expect(ours).toContainEqual(expect.arrayContaining([button === 'left' ? 'click' : 'auxclick']));
  });

  it('goes past the wire of the library as it is installed, and over it where that is built otherwise', async () => {
    expect(innerOf(cdp)).not.toBeNull();
    const other = { send: async (...words: unknown[]) => words } as unknown as CDPSession;
    expect(innerOf(other)).toBeNull();
    expect(await directOf(other)('Page.enable')).toEqual(['Page.enable', undefined]);
  });

  it('an answer comes after what was told before it', async () => {
    const told: string[] = [];
    page.on('console', (message) => told.push(message.text()));
    await directOf(cdp)('Runtime.evaluate', { expression: 'console.log("first")' });
    await directOf(cdp)('Runtime.evaluate', { expression: '0' });
    expect(told).toEqual(['first']);
  });

  it('with a button or a key held is one of who holds it', async () => {
    site.pages.set('/', logging);
    await driver.act('navigate', { url: site.origin });
    const target = { type: 'coordinate', ...at };
    await driver.act('left_mouse_down', { target });
    await driver.act('right_click', { target });
    const pressed = `JSON.stringify(heard.filter(([type, button]) => type === 'mousedown' && button === 2).map((one) => one[2]))`;
    // 1 of the left one that is still down, 2 of its own.
    expect(await driver.value(pressed)).toBe('[3]');
    await driver.act('left_mouse_up', { target });
    await driver.act('left_click', { target, modifiers: 'shift' });
    await driver.act('left_click', { target });
    const clicks = `JSON.stringify(heard.filter(([type, , , detail]) => type === 'click' && detail > 0).slice(-2).map((one) => one[8]))`;
    expect(await driver.value(clicks)).toBe('[true,false]');
  });

  it('that closes its tab, or leads elsewhere, answers with what is there then', async () => {
    site.pages.set('/', `<a href="/next" style="position:fixed;inset:0">Go</a>`);
    site.pages.set('/next', '<title>Next</title>');
    site.pages.set('/opens', `<button style="position:fixed;inset:0" onclick="window.open('/closes')">Open</button>`);
    site.pages.set('/closes', `<button style="position:fixed;inset:0" onclick="window.close()">Close</button>`);
    const target = { type: 'coordinate', ...at };
    const active = ({ acted }: Awaited<ReturnType<Driver['act']>>) =>
      acted.browser_state?.tabs.find((one) => one.active)?.url;
    await driver.act('navigate', { url: site.origin });
    expect(active(await driver.act('left_click', { target }))).toBe(`${site.origin}/next`);
    await driver.act('navigate', { url: `${site.origin}/opens` });
    expect(active(await driver.act('left_click', { target }))).toBe(`${site.origin}/closes`);
    const { head } = await driver.send({
      do: 'act',
      place: { kind: 'browser', session: 'one' },
      toolset: 'browser',
      member: 'left_click',
      input: { target },
      timeoutMs: 10_000,
    });
    // Whether the button came up before the tab was gone is a matter of luck; that it is gone is not.
    if (!head.ok) expect(head.fault.code).toBe('tab_not_found');
    expect(active(await driver.act('list_tabs'))).toBe(`${site.origin}/opens`);
  });
});
