// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
/** What a page says to whoever reads it: fields whole, editors, shadow roots, and nothing that should stay hidden. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Driver, type Site, startDriver, startSite } from '../driver.ts';
import { hasChromium } from './has-chromium.ts';

let driver: Driver;
let site: Site;

async function show(body: string): Promise<void> {
  site.pages.set('/', `<!doctype html><meta charset=utf-8><title>Page</title><body>${body}`);
  await driver.act('navigate', { url: site.origin });
}
const page = async (input: Record<string, unknown> = {}) => (await driver.act('read_page', input)).acted.text ?? '';
const text = async () => (await driver.act('get_page_text')).acted.text ?? '';
const by = (ref: string) => ({ type: 'ref', ref });

describe.skipIf(!hasChromium())('reading a page', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    site = await startSite();
    driver = await startDriver();
    await driver.open();
  }, 60_000);
  afterAll(async () => {
    expect((await driver?.end()) ?? 0).toBe(0);
    await site?.close();
  });

  const draft = `Dear Ada,\n\n  ${'a long line '.repeat(60).trim()}\n\nYours,\n\tBob`;

  it.each([
    ['a text area', '<textarea aria-label=Draft id=d></textarea>', 'd.value = text'],
    [
      'a text area in a frame',
      `<iframe srcdoc="<textarea aria-label=Draft id=d></textarea>"></iframe>`,
      'frames[0].d.value = text',
    ],
    [
      'an editor',
      '<div contenteditable style="white-space:pre-wrap" aria-label=Draft id=d></div>',
      'd.textContent = text',
    ],
    [
      'an editor that says that it is a field',
      '<div contenteditable role=textbox style="white-space:pre-wrap" aria-label=Draft id=d></div>',
      'd.textContent = text',
    ],
    [
      'a field in a closed shadow root',
      '<div id=h></div><script>h.attachShadow({mode:"closed"}).innerHTML="<textarea aria-label=Draft>"</script>',
      'h.shadowRoot.firstChild.value = text',
    ],
  ])('shows the draft in %s whole, with its lines, in both readings', async (_where, html, fill) => {
    await show(html);
    await expect.poll(() => driver.value(`text = ${JSON.stringify(draft)}; ${fill}; 'filled'`)).toBe('filled');
    for (const filter of ['all', 'interactive']) {
      const lines = (await page({ filter })).split('\n').filter((line) => /^ *\| /.test(line));
      expect(lines.map((line) => line.replace(/^ *\| /, '')).join('\n')).toBe(draft);
    }
    expect(await text()).toContain(draft);
    // Once: what stands in the field does not stand beside it again.
    expect((await page()).split('Dear Ada,')).toHaveLength(2);
    const ref = await driver.ref(/Draft/);
    await driver.act('form_input', { target: by(ref), value: 'short' });
    expect(await page({ ref: await driver.ref(/Draft/) })).toMatch(/short/);
  });

  it('an editor without a block inside reads as what stands in it, and what can be clicked in one keeps its ref', async () => {
    await show('<div contenteditable role=textbox aria-label=Note>Hello <b>you</b><br>there <a href=/x>link</a></div>');
    const read = await page();
    expect(read).toMatch(/textbox "Note" \[ref_\d+\].*\n +\| Hello you\n +\| there link\n +- link "link" \[ref_\d+\]/);
    expect(await text()).toBe('Hello you\nthere link');
    const { acted } = await driver.act('find', { query: 'Hello you' });
    expect(acted.text).toContain('textbox "Note"');
  });

  it('a text that is longer than all that is read at once is cut, and says so', async () => {
    await show('<textarea aria-label=Draft id=d></textarea><p>after</p>');
    await driver.value(`d.value = 'x'.repeat(60000) + 'END'; 1`);
    const read = await page();
    expect(read.length).toBeLessThanOrEqual(50_000);
    expect(read).toContain('The page is longer than this.');
    expect(read).not.toContain('END');
  });

  it('a password is not read out', async () => {
    await show('<label>Password <input type=password value="correct horse"></label><p>correct</p>');
    expect(await page()).toContain('••••');
    const found = async (query: string) => (await driver.act('find', { query })).acted.text ?? '';
    expect(await found('password')).toContain('••••');
    const all = [page(), page({ filter: 'interactive' }), text(), found('password field'), found('correct horse')];
    expect((await Promise.all(all)).join('\n')).not.toContain('horse');
    // Behind as many other fields as anybody likes.
    await driver.value(
      `document.querySelector('label').insertAdjacentHTML('beforebegin', '<textarea>a\\nb</textarea>'.repeat(80)); 1`,
    );
    expect(await page()).toContain('••••');
    expect(await page()).not.toContain('horse');
  });

  it('the text has fields, choices, ticks and shadow roots where they stand, and leaves out what nobody sees', async () => {
    await show(`<h1>Order</h1><p>Name: <input value=Ada> <select><option>small<option selected>large</select></p>
      <label><input type=checkbox checked> Gift</label> <label><input type=checkbox> Fast</label>
      <table><tr><td><div>A</div></td><td>B</td></tr><tr><td>C</td><td>D</td></tr></table>
      <p>one<br>two<br><br>three   four</p><pre>  kept
    lines</pre><p style="display:none">gone</p><p style="visibility:hidden">gone <b style="visibility:visible">seen</b></p>
      <details><summary>More</summary>gone</details><script>'gone'</script><input type=hidden value=gone>
      <my-card>slotted</my-card><div id=c></div><script>
      customElements.define('my-card', class extends HTMLElement { constructor() { super();
        this.attachShadow({mode:'open'}).innerHTML = '<p>before <slot></slot> after</p>' } });
      c.attachShadow({mode:'closed'}).innerHTML = '<p>inside</p>' </script>`);
    expect(await text()).toBe(
      [
        'Order\n\nName: [Ada] [large]\n\n[x] Gift [ ] Fast\nA\tB\nC\tD\n\none\ntwo\n\nthree four\n\n  kept\n    lines',
        'seen\n\nMore\n\nbefore slotted after\n\ninside',
      ].join('\n\n'),
    );
  });

  it('reaches into closed shadow roots as into open ones', async () => {
    await show(`<x-box></x-box><script>customElements.define('x-box', class extends HTMLElement { constructor() { super();
      this.attachShadow({mode:'closed'}).innerHTML = '<button onclick="document.title=1">Press</button><input aria-label=Pin>' } })</script>`);
    await driver.act('left_click', { target: by(await driver.ref(/button "Press"/)) });
    expect(await driver.value('document.title')).toBe('1');
    const target = by(await driver.ref(/"Pin"/));
    await driver.act('left_click', { target });
    expect(await driver.look('type', { text: '1' })).toMatchObject({ credential: true, element: 'textbox "Pin"' });
    expect(await driver.value('Element.prototype.attachShadow.toString()')).toContain('[native code]');
  });

  it.each([
    ['API token', '<label>API token <input></label>'],
    ['api key by its name', '<input name=apiKey>'],
    ['secret key', '<input aria-label="Secret key">'],
    ['client secret', '<input placeholder="Client secret">'],
    ['pin', '<input id=user-pin inputmode=numeric>'],
    ['PIN as a number', '<label>PIN <input type=number></label>'],
    ['cvc', '<input name=cvc>'],
    ['security code', '<span id=l>Security code</span><input aria-labelledby=l>'],
    ['what a table calls it', '<table><tr><td>Access token</td><td><input></td></tr></table>'],
    ['what stands before it', '<p>Passphrase: <input></p>'],
    ['recovery code area', '<textarea title="Recovery codes"></textarea>'],
    ['masked by its style', '<input style="-webkit-text-security: disc">'],
    ['an editor', '<div contenteditable aria-label="Private key">x</div>'],
    ['a password', '<input type=password>'],
    ['a card', '<input autocomplete="cc-csc">'],
  ])('typing into a field is asked about: %s', async (_name, html) => {
    await show(html);
    await driver.value(`document.querySelector('input,textarea,[contenteditable]').focus(); 1`);
    for (const member of ['type', 'key'] as const) {
      expect((await driver.look(member, { text: 'a' })).credential).toBe(true);
    }
  });

  it.each([
    ['a name', '<label>Name <input></label>'],
    ['a search', '<input type=search placeholder="Search pins and tokens">'],
    ['a street', '<label>Shipping address <input name=shipping></label>'],
    ['a number', '<label>Max tokens <input type=number></label>'],
    ['a spinning top', '<textarea aria-label="About spinning"></textarea>'],
    ['a tick', '<label><input type=checkbox> Remember my PIN</label>'],
    [
      'words far before it',
      `<p>Never give your password to anybody, whoever asks you for it by mail or by phone. ${'.'.repeat(60)}</p><input>`,
    ],
  ])('typing into a field is not asked about: %s', async (_name, html) => {
    await show(html);
    await driver.value(`document.querySelector('input,textarea').focus(); 1`);
    expect((await driver.look('type', { text: 'a' })).credential).toBe(false);
  });
});
