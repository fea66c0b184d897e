// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { hasChromium } from './has-chromium.ts';

let driver: Driver;
let site: Site;
let other: Site;

/** Opens a page of this body. */
async function show(body: string): Promise<void> {
  site.pages.set('/', `<!doctype html><title>Page</title><body style="margin:0">${body}`);
  await driver.act('navigate', { url: site.origin });
}
const at = (x: number, y: number) => ({ type: 'coordinate', x, y });
const by = (ref: string) => ({ type: 'ref', ref });
const clicks = `onclick="document.title += ' ' + this.id"`;
const box = (left: number, top: number, width: number, height: number) =>
  `position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px`;

describe.skipIf(!hasChromium())('targets', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    [site, other] = await Promise.all([startSite(), startSite()]);
    driver = await startDriver();
    await driver.open();
  }, 60_000);
  afterAll(async () => {
    await driver.end();
    await Promise.all([site.close(), other.close()]);
  });

  it('clicks an element whose middle is covered where it is free', async () => {
    await show(`<button id=a ${clicks} style="${box(10, 10, 300, 60)}">Under</button>
      <div id=lid onclick="document.title='wrong'" style="${box(60, 0, 200, 100)};background:#ccc"></div>`);
    await driver.act('left_click', { target: by(await driver.ref(/"Under"/)) });
    expect(await driver.value('document.title')).toBe('Page a');
  });

  it('names what lies over an element that is covered whole, and clicks nothing', async () => {
    await show(`<button id=a ${clicks} style="${box(10, 10, 300, 60)}">Under</button>
      <div id=lid onclick="document.title='wrong'" style="${box(0, 0, 800, 600)};background:#ccc">Please wait</div>`);
    const fault = await driver.fault('left_click', { target: by(await driver.ref(/"Under"/)) });
    expect(fault).toMatchObject({ sort: 'page', code: 'element_covered' });
    expect(fault.message).toContain('<div#lid> "Please wait"');
    expect(await driver.value('document.title')).toBe('Page');
  });

  it('waits for a cover that goes away by itself', async () => {
    await show(`<button id=a ${clicks} style="${box(10, 10, 300, 60)}">Under</button>
      <div id=lid style="${box(0, 0, 800, 600)};background:#ccc"></div>`);
    const ref = await driver.ref(/"Under"/);
    await driver.value('setTimeout(() => lid.remove(), 300)');
    await driver.act('left_click', { target: by(ref) });
    expect(await driver.value('document.title')).toBe('Page a');
  });

  it('waits until an element rests that something beside it pushes along', async () => {
    await show(`<div style="display:flex"><div id=spacer style="flex:none;width:1000px;transition:width .6s linear"></div>
      <button id=a ${clicks} style="flex:none;width:16px;overflow:hidden">Pushed</button></div>`);
    const ref = await driver.ref(/"Pushed"/);
    await driver.value("spacer.style.width = '0px'");
    await driver.act('left_click', { target: by(ref) });
    expect(await driver.value('document.title')).toBe('Page a');
  });

  it('scrolls the page and the boxes within it until the element is seen', async () => {
    await show(`<div style="height:3000px"></div><div style="height:200px;overflow:auto"><div style="height:2000px"></div>
      <button id=a ${clicks}>Deep</button></div><div style="height:3000px"></div>`);
    await driver.act('left_click', { target: by(await driver.ref(/"Deep"/)) });
    expect(await driver.value('document.title')).toBe('Page a');
  });

  it('clicks within frames of the same and of another origin, one in the other, scrolled and scaled', async () => {
    other.pages.set(
      '/outer',
      `<body style="margin:0"><div style="height:900px"></div><iframe src="${site.origin.replace('127.0.0.1', 'localhost')}/inner" style="border:7px solid;padding:5px;width:300px;height:200px"></iframe><div style="height:900px"></div>`,
    );
    site.pages.set(
      '/inner',
      `<div style="height:700px"></div><button onclick="this.textContent='Pressed'">Inmost</button>`,
    );
    await show(`<div style="height:1200px"></div>
      <iframe src="${other.origin}/outer" style="border:3px solid;width:500px;height:300px;transform:scale(0.8)"></iframe>`);
    await expect.poll(async () => (await driver.act('read_page', { depth: 100 })).acted.text).toContain('Inmost');
    await driver.act('left_click', { target: by(await driver.ref(/"Inmost"/)) });
    expect((await driver.act('read_page', { depth: 100 })).acted.text).toContain('"Pressed"');
  });

  it('says that a frame is covered in the page that holds it', async () => {
    site.pages.set('/inner', `<button>Inmost</button>`);
    await show(
      `<iframe src="/inner" style="${box(0, 0, 300, 200)}"></iframe><div id=lid style="${box(0, 0, 400, 300)}"></div>`,
    );
    const fault = await driver.fault('left_click', { target: by(await driver.ref(/"Inmost"/)) });
    expect(fault).toMatchObject({ code: 'element_covered' });
    expect(fault.message).toContain('<div#lid>');
  });

  it('reaches into open shadow roots, and takes what is slotted there for what it is', async () => {
    await show(`<my-box><span>Slotted</span></my-box><script>
      customElements.define('my-box', class extends HTMLElement { connectedCallback() {
        this.attachShadow({mode: 'open'}).innerHTML = '<button onclick="document.title=\\'shadow\\'"><slot></slot></button>' } })</script>`);
    await driver.act('left_click', { target: by(await driver.ref(/button "Slotted"/)) });
    expect(await driver.value('document.title')).toBe('shadow');
  });

  it('ticks a box that is hidden under its label', async () => {
    await show(
      `<label style="display:inline-block;padding:20px"><input type=checkbox id=a style="opacity:0;position:absolute"><span style="position:relative;padding:9px">Agree</span></label>`,
    );
    await driver.act('left_click', { target: by(await driver.ref(/checkbox "Agree"/)) });
    expect(await driver.value('a.checked')).toBe('true');
  });

  it('refs are of no use after navigation, and stay with their element while it is there', async () => {
    await show(`<button id=a ${clicks}>One</button>`);
    const ref = await driver.ref(/"One"/);
    await driver.value("history.pushState(null, '', '#here')");
    await driver.act('left_click', { target: by(ref) });
    expect(await driver.ref(/"One"/)).toBe(ref);
    await show(`<button id=a ${clicks}>Other</button>`);
    expect(await driver.fault('left_click', { target: by(ref) })).toMatchObject({ sort: 'page', code: 'stale_ref' });
    expect(await driver.ref(/"Other"/)).not.toBe(ref);
    const gone = await driver.ref(/"Other"/);
    await driver.value('a.remove()');
    expect(await driver.fault('scroll_to', { target: by(gone) })).toMatchObject({ code: 'stale_ref' });
  });

  it("a frame's refs do not become another element's when the frame shows another page", async () => {
    site.pages.set('/inner', `<button onclick="top.document.title='first'">First</button>`);
    site.pages.set('/next', `<button onclick="top.document.title='second'">Second</button>`);
    await show(`<iframe id=f src="/inner"></iframe>`);
    const ref = await driver.ref(/"First"/);
    await driver.value("f.src = '/next'; new Promise(done => f.onload = () => done(1))");
    await driver.act('read_page', {});
    expect(await driver.fault('left_click', { target: by(ref) })).toMatchObject({ code: 'stale_ref' });
    expect(await driver.value('document.title')).toBe('Page');
  });

  it('clicks with every button, twice and three times, and with keys held', async () => {
    await show(`<div id=a style="${box(0, 0, 200, 200)}"></div><script>log = [];
      for (const type of ['click', 'dblclick', 'auxclick', 'contextmenu'])
        a.addEventListener(type, (e) => { e.preventDefault(); log.push(type + e.button + e.detail + (e.ctrlKey ? 'c' : '') + (e.shiftKey ? 's' : '')) })</script>`);
    const target = at(50, 50);
    const heard = () => driver.value('const all = log.join(); log = []; all');
    await driver.act('left_click', { target, modifiers: 'ctrl+shift' });
    expect(await heard()).toBe('click01cs');
    await driver.act('right_click', { target });
    expect(await heard()).toMatch(/contextmenu2/);
    await driver.act('middle_click', { target });
    expect(await heard()).toBe('auxclick11');
    await driver.act('double_click', { target });
    expect(await heard()).toBe('click01,click02,dblclick02');
    await driver.act('triple_click', { target });
    expect(await heard()).toContain('click03');
  });

  it('drags, hovers, scrolls and brings into view', async () => {
    await show(`<div id=a style="${box(0, 0, 50, 50)};background:red"></div><div id=h style="${box(300, 300, 100, 100)}">here</div>
      <div id=end style="${box(0, 5000, 10, 10)}"><button>End</button></div><script>
      path = []; a.onmousedown = () => { onmousemove = (e) => path.push([e.clientX, e.clientY]); onmouseup = () => { onmousemove = null } };
      h.onmouseenter = () => { document.title = 'hovered' }</script>`);
    await driver.act('left_click_drag', { from: at(20, 20), target: at(220, 120) });
    const path = JSON.parse(await driver.value('JSON.stringify(path)')) as number[][];
    expect(path.length).toBeGreaterThan(3);
    expect(path.at(-1)).toEqual([220, 120]);
    await driver.act('hover', { target: at(350, 350) });
    expect(await driver.value('document.title')).toBe('hovered');
    await driver.act('scroll', { target: at(400, 400), scroll_direction: 'down', scroll_amount: 5 });
    expect(await driver.value('scrollY')).toBe('500');
    // Moved when the wheel answers, however often: a place looked for then is where it will be clicked.
    for (const [scroll_direction, now] of [
      ['down', '1500'],
      ['down', '2500'],
      ['up', '1500'],
      ['up', '500'],
    ]) {
      await driver.act('scroll', { target: at(400, 400), scroll_direction, scroll_amount: 10 });
      expect(await driver.value('scrollY')).toBe(now);
    }
    await driver.act('scroll_to', { target: by(await driver.ref(/"End"/)) });
    expect(Number(await driver.value('scrollY'))).toBeGreaterThan(4000);
    const looked = await driver.look('left_click', { target: by(await driver.ref(/"End"/)) });
    expect(looked).toMatchObject({ element: 'button "End"', credential: false, url: `${site.origin}/` });
    expect(looked.region!.y).toBeGreaterThan(0);
    expect(looked.region!.y).toBeLessThan(800);
  });

  it('tells before an action whether it types a credential, and what is touched, in frames too', async () => {
    site.pages.set('/inner', `<input type=password aria-label=Secret autofocus>`);
    await show(`<input id=u aria-label=User><input id=c aria-label=Card autocomplete="billing cc-number">
      <input id=o aria-label=Code autocomplete=one-time-code><iframe src="/inner" style="${box(0, 100, 300, 100)};border:0"></iframe>`);
    const looks = async (name: RegExp) => driver.look('form_input', { target: by(await driver.ref(name)), value: 'x' });
    expect(await looks(/"User"/)).toMatchObject({ credential: false, element: 'textbox "User"' });
    expect((await looks(/"Card"/)).credential).toBe(true);
    expect((await looks(/"Code"/)).credential).toBe(true);
    expect((await looks(/"Secret"/)).credential).toBe(true);
    await driver.act('left_click', { target: at(50, 118) });
    expect(await driver.look('type', { text: 'x' })).toMatchObject({
      credential: true,
      element: 'password field "Secret"',
    });
    expect(await driver.look('left_click', { target: at(50, 118) })).toMatchObject({
      credential: false,
      element: 'password field "Secret"',
    });
    await driver.value('u.focus()');
    expect((await driver.look('key', { text: 'a' })).credential).toBe(false);
  });

  it('finds by text, role, what stands beside it, and attributes; the best first', async () => {
    await show(`<table>${['Apples', 'Pears', 'Plums'].map((name) => `<tr><td>${name}</td><td><button>Delete</button></td></tr>`).join('')}</table>
      <input placeholder="Search products"><select aria-label=Country><option>France</select><div data-testid=odd-widget tabindex=0></div>
      ${'<button>Filler</button>'.repeat(60)}`);
    const found = async (query: string) => (await driver.act('find', { query })).acted.text!.split('\n');
    const [delete_] = await found('delete button of Pears');
    const ref = /ref_\d+/.exec(delete_!)![0];
    expect((await driver.look('left_click', { target: by(ref) })).element).toBe('button "Delete"');
    await driver.value("document.querySelectorAll('button')[1].onclick = () => { document.title = 'pears' }");
    await driver.act('left_click', { target: by(ref) });
    expect(await driver.value('document.title')).toBe('pears');
    expect((await found('search box'))[0]).toContain('Search products');
    expect((await found('country dropdown'))[0]).toContain('combobox "Country"');
    expect((await found('odd-widget'))[0]).toContain('data-testid=odd-widget');
    expect(await found('filler')).toHaveLength(20);
    expect(await found('zebra')).toEqual(['Nothing on the page matches. Try other words, or read_page.']);
  });

  it('reads a page of any length within its limit and says that there is more', async () => {
    await show(
      `<nav><a href=#>Menu</a></nav>${Array.from({ length: 3000 }, (_, i) => `<p>Line ${i} of a long page</p>`).join('')}<button>Last</button>`,
    );
    const all = (await driver.act('read_page', {})).acted.text!;
    expect(all.length).toBeLessThanOrEqual(50_000);
    expect(all.split('\n').at(-1)).toContain('longer than this');
    const few = (await driver.act('read_page', { filter: 'interactive' })).acted.text!;
    expect(few).toContain('link "Menu"');
    expect(few).toContain('button "Last"');
    expect(few).not.toContain('Line 7');
    const nav = /\[(ref_\d+)\]/.exec(all.split('\n').find((line) => line.includes('navigation'))!)![1];
    const part = (await driver.act('read_page', { ref: nav })).acted.text!;
    expect(part).toContain('Menu');
    expect(part).not.toContain('Line');
    expect((await driver.act('read_page', { depth: 1 })).acted.text).toContain('more below depth 1');
    expect((await driver.act('get_page_text', {})).acted.text!.length).toBeLessThanOrEqual(50_000);
  });
});
