// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { hasChromium } from './has-chromium.ts';

const run = it.skipIf(!hasChromium());
let driver: Driver;
let site: Site;

beforeAll(async () => {
  if (!hasChromium()) return;
  site = await startSite();
  driver = await startDriver();
  await driver.open();
}, 60_000);
afterAll(async () => {
  expect((await driver?.end()) ?? 0).toBe(0);
  await site?.close();
});

run('a page is opened, read, and clicked by ref and by coordinate', { timeout: 60_000 }, async () => {
  site.pages.set(
    '/',
    `<title>Count</title><h1>Count</h1>
     <button style="position:absolute;left:100px;top:100px;width:80px;height:40px" onclick="n.textContent=++window.c">More</button>
     <p id=n>0</p><script>c = 0</script>`,
  );
  const opened = await driver.act('navigate', { url: site.origin });
  expect(opened.acted.browser_state?.tabs).toEqual([
    { tab_id: 'tab_1', title: 'Count', url: `${site.origin}/`, active: true },
  ]);
  const ref = await driver.ref(/button "More"/);
  await driver.act('left_click', { target: { type: 'ref', ref } });
  await driver.act('left_click', { target: { type: 'coordinate', x: 140, y: 120 } });
  expect(await driver.value('n.textContent')).toBe('2');
  expect((await driver.act('get_page_text')).acted.text).toContain('Count');
});
