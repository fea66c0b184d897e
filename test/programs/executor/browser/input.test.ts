// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { symlinkSync, writeFileSync } from 'node:fs';
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
const type = (text: string, timeoutMs?: number) => driver.act('type', { text }, timeoutMs);
const focus = async (name: RegExp) => driver.act('left_click', { target: by(await driver.ref(name)) });
const set = async (name: RegExp, value: string | number | boolean) =>
  driver.act('form_input', { target: by(await driver.ref(name)), value });

const texts = {
  ascii: `The quick {brown} [fox] <jumps> "over" 'it' \\ | ~ \` ^ & * ( ) _ + - = ; : , . / ? ! @ # $ % 0123456789`,
  accents: 'Hi, wörld: ÆØÅ æøå ñ ç é — “quoted” … e\u0301 n\u0303',
  cjk: '日本語と中文 和 한국어',
  emoji: 'a👩‍👩‍👧‍👦b👍🏽c🇩🇪d❤️e',
  rtl: 'שלום مرحبا',
};

describe.skipIf(!hasChromium())('input', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    site = await startSite();
    driver = await startDriver();
    await driver.open();
  }, 60_000);
  afterAll(async () => {
    await driver.end();
    await site.close();
  });

  it.each(Object.entries(texts))('types %s as it is into a line, an area and an editor', async (_name, text) => {
    await show(
      `<input aria-label=Line><textarea aria-label=Area></textarea><div contenteditable role=textbox aria-label=Rich style="white-space:pre-wrap;width:600px;height:90px"></div>`,
    );
    for (const [name, read] of [
      ['Line', "document.querySelector('input').value"],
      ['Area', "document.querySelector('textarea').value"],
      ['Rich', "document.querySelector('[contenteditable]').innerText"],
    ] as const) {
      await focus(new RegExp(`"${name}"`));
      await type(text);
      expect(await driver.value(read)).toBe(text);
    }
  });

  it('acts for whoever goes by another page or frame than there is not at all', async () => {
    await show(`<button style="position:fixed;inset:0" onclick="document.title+='!'">Press</button>`);
    const { screen } = await driver.look('left_click', { target: { type: 'coordinate', x: 9, y: 9 } });
    const press = async (seen: { url: string; screen: typeof screen }) => {
      const { head } = await driver.send({
        do: 'act',
        place: { kind: 'browser', session: 'one' },
        toolset: 'browser',
        member: 'left_click',
        input: { target: { type: 'coordinate', x: 9, y: 9 } },
        timeoutMs: 30_000,
        seen,
      });
      return head.ok ? 'done' : head.fault.code;
    };
    const url = await driver.value('location.href');
    expect(await press({ url: `${url}other`, screen })).toBe('changed');
    expect(await press({ url, screen: { ...screen, frame_width: 640 } })).toBe('changed');
    expect(await driver.value('document.title')).toBe('Page');
    expect(await press({ url, screen })).toBe('done');
    expect(await driver.value('document.title')).toBe('Page!');
  });

  it('types lines: as lines where there are some, as Enter where there are none', async () => {
    await show(`<form onsubmit="document.title='sent '+l.value;return false"><input id=l aria-label=Line></form><textarea id=a aria-label=Area></textarea>
      <div id=r contenteditable role=textbox aria-label=Rich style="width:600px;height:200px"></div>`);
    await focus(/"Area"/);
    await type('one\ntwo\r\n\n\tfour');
    expect(await driver.value('a.value')).toBe('one\ntwo\n\n\tfour');
    await focus(/"Rich"/);
    await type('one\ntwo\n\nfour');
    expect(await driver.value('[...r.innerText.matchAll(/\\w+/g)].join()')).toBe('one,two,four');
    expect(await driver.value('r.children.length')).toBe('3');
    await focus(/"Line"/);
    await type('query\n');
    expect(await driver.value('document.title')).toBe('sent query');
  });

  it('types 20,000 characters of every sort, in an area and in an editor', async () => {
    const line = 'Grüße 日本 👍🏽 abc defg. ';
    const text = Array.from({ length: 850 }, (_, i) => `${line}${i % 40 === 39 ? '\n' : ''}`)
      .join('')
      .slice(0, 20_000)
      .replace(/[\ud800-\udbff]$/, 'x');
    await show(
      `<textarea id=a aria-label=Area></textarea><div id=r contenteditable role=textbox aria-label=Rich style="white-space:pre-wrap;width:600px;height:100px"></div>`,
    );
    await focus(/"Area"/);
    await type(text);
    expect(await driver.value(`a.value.length + ' ' + (a.value.slice(-30))`)).toBe(`${text.length} ${text.slice(-30)}`);
    expect((await driver.value('a.value')).slice(0, 40_000)).toBe(text);
    await focus(/"Rich"/);
    await type(text);
    expect((await driver.value('r.innerText')).replace(/\n+/g, '')).toBe(text.replace(/\n/g, ''));
  });

  it('fields that listen to keys hear each one', async () => {
    await show(
      `<input aria-label=Line id=l><p id=p>0</p><script>l.onkeydown = (e) => { if (/[0-9]/.test(e.key)) return; e.preventDefault(); p.textContent++ }</script>`,
    );
    await focus(/"Line"/);
    await type('a1b2c3');
    expect(await driver.value("l.value + ' ' + p.textContent")).toBe('123 3');
  });

  it('types across fields that pass the focus on by themselves', async () => {
    await show(`${'<input maxlength=1 aria-label=Digit style="width:20px">'.repeat(6)}<script>
      all = [...document.querySelectorAll('input')]; all.forEach((one, i) => { one.oninput = () => all[i + 1]?.focus() })</script>`);
    await driver.value('all[0].focus()');
    await type('314159');
    expect(await driver.value("all.map((one) => one.value).join('')")).toBe('314159');
  });

  it('presses chords and sequences by the names that xdotool has', async () => {
    await show(`<textarea id=a aria-label=Area>one two three</textarea><script>keys = [];
      onkeydown = (e) => keys.push([e.ctrlKey && 'C', e.altKey && 'A', e.shiftKey && 'S', e.metaKey && 'M', e.key].filter(Boolean).join('-'))</script>`);
    await focus(/"Area"/);
    await driver.act('key', { text: 'ctrl+a BackSpace' });
    expect(await driver.value('a.value')).toBe('');
    await driver.act('key', { text: 'h i space shift+1 plus ü Return', repeat: 2 });
    expect(await driver.value('a.value')).toBe('hi !+ü\nhi !+ü\n');
    await driver.value('keys = []');
    await driver.act('key', { text: 'ctrl+shift+Home Page_Up alt+F4 super+Left Control_L+plus ISO_Left_Tab KP_5' });
    expect(await driver.value("keys.filter((one) => !/(Control|Shift|Alt|Meta)$/.test(one)).join(' ')")).toBe(
      'C-S-Home PageUp A-F4 M-ArrowLeft C-= S-Tab 5',
    );
    expect(await driver.fault('key', { text: 'ctrl+Hyperspace' })).toMatchObject({ sort: 'page', code: 'unknown_key' });
    // Nothing stays down after a chord that cannot be.
    await focus(/"Area"/);
    await driver.value("a.value = ''");
    await driver.act('key', { text: 'x' });
    expect(await driver.value('a.value')).toBe('x');
  });

  it('holds a key as long as told, repeating, and lets go of it when it is stopped', async () => {
    await show(`<input id=l aria-label=Line><script>ups = 0; onkeyup = () => { ups++ }</script>`);
    await focus(/"Line"/);
    await driver.act('hold_key', { text: 'a', duration: 0.9 });
    expect((await driver.value('l.value')).length).toBeGreaterThan(2);
    let heard = false;
    site.pages.set('/heard', () => {
      heard = true;
    });
    await driver.value("l.onkeydown = () => { fetch('/heard') }; 1");
    const held = driver.fault('hold_key', { text: 'b', duration: 20 });
    await expect.poll(() => heard).toBe(true);
    await driver.send({ do: 'stop', place: { kind: 'browser', session: 'one' } });
    expect(await held).toMatchObject({ code: 'cancelled', unknownEnd: true });
    await expect.poll(() => driver.value('ups')).toBe('2');
  });

  it('sets fields of every sort and says what cannot be set', async () => {
    await show(`<input aria-label=Text id=t value=old><input type=number aria-label=Number id=n><input type=date aria-label=Date id=d>
      <input type=time aria-label=Time id=ti><input type=range aria-label=Range id=ra min=0 max=10><input type=color aria-label=Colour id=co>
      <label><input type=checkbox id=ch>Tick</label><label><input type=radio name=r id=r1 value=1>First</label><label><input type=radio name=r id=r2 value=2>Second</label>
      <select aria-label=Choice id=s><option value=de>Germany<option value=fr>France<option value=x disabled>Nowhere</select>
      <select multiple aria-label=Many id=m><option>A<option>B<option>C</select>
      <div contenteditable role=textbox aria-label=Rich id=e>old</div><textarea aria-label=Area id=a>old</textarea>
      <input aria-label=Fixed readonly value=1><input aria-label=Off disabled><button>Go</button>
      <div role=switch aria-checked=false aria-label=Switch tabindex=0 id=w style="width:40px;height:20px" onclick="this.ariaChecked = this.ariaChecked !== 'true'"></div>
      <script>heard = []; for (const type of ['input', 'change']) addEventListener(type, (e) => heard.push(type + ' ' + e.target.id), true)</script>`);
    await set(/"Text"/, 'new ü');
    await set(/"Number"/, 42.5);
    await set(/"Date"/, '2026-11-22');
    await set(/"Time"/, '13:45');
    await set(/slider "Range"/, 7);
    await set(/"Colour"/, '#ff8800');
    await set(/"Tick"/, true);
    await set(/radio "Second"/, true);
    await set(/"Choice"/, 'France');
    await set(/"Many"/, 'A, C');
    await set(/"Rich"/, 'one\ntwo');
    await set(/"Area"/, 'one\ntwo');
    await set(/"Switch"/, true);
    expect(
      await driver.value(`[t.value, n.value, d.value, ti.value, ra.value, co.value, ch.checked, r1.checked, r2.checked, s.value,
        [...m.selectedOptions].map((one) => one.value), e.innerText, a.value, w.ariaChecked].join('|')`),
    ).toBe('new ü|42.5|2026-11-22|13:45|7|#ff8800|true|false|true|fr|A,C|one\ntwo|one\ntwo|true');
    await set(/"Choice"/, 'de');
    await set(/"Tick"/, true);
    await set(/"Tick"/, false);
    expect(
      await driver.value("[s.value, ch.checked, heard.includes('change s'), heard.includes('input t')].join()"),
    ).toBe('de,false,true,true');
    const refused = async (name: RegExp, value: string | boolean) =>
      driver.fault('form_input', { target: by(await driver.ref(name)), value });
    const none = await refused(/"Choice"/, 'Spain');
    expect(none).toMatchObject({ sort: 'page', code: 'option_not_found' });
    expect(none.message).toContain('"Germany", "France"');
    expect(await refused(/"Date"/, 'yesterday')).toMatchObject({ code: 'not_editable' });
    expect(await refused(/"Number"/, 'many')).toMatchObject({ code: 'not_editable' });
    expect(await refused(/"Fixed"/, 'x')).toMatchObject({ code: 'not_editable' });
    expect(await refused(/"Off"/, 'x')).toMatchObject({ code: 'not_editable' });
    expect(await refused(/"Go"/, 'x')).toMatchObject({ code: 'not_editable' });
    expect(await refused(/"Tick"/, 'maybe')).toMatchObject({ code: 'not_editable' });
  });

  it('hands files to a field, to a button that asks for them, and says which file is not there', async () => {
    const file = join(driver.folder, 'hällo.txt');
    writeFileSync(file, 'contents');
    await show(
      `<input type=file aria-label=File id=f><input type=file id=h style="display:none" multiple><button onclick="h.click()">Choose</button>`,
    );
    const upload = async (name: RegExp, paths: string[]) =>
      driver.act('file_upload', { target: by(await driver.ref(name)), paths });
    await upload(/"File"/, [file]);
    await upload(/"Choose"/, [file, file]);
    expect(await driver.value("f.files[0].name + ' ' + h.files.length")).toBe('hällo.txt 2');
    const target = by(await driver.ref(/"File"/));
    expect(await driver.fault('file_upload', { target, paths: [join(driver.folder, 'none')] })).toMatchObject({
      code: 'file_not_found',
    });
    expect(await driver.fault('file_upload', { target, paths: ['relative.txt'] })).toMatchObject({
      code: 'file_not_found',
    });
    symlinkSync(file, join(driver.folder, 'link'));
    expect(await driver.fault('file_upload', { target, paths: [join(driver.folder, 'link')] })).toMatchObject({
      code: 'file_not_found',
      message: expect.stringContaining(`leads to ${file}`),
    });
    expect(await driver.fault('file_upload', { target, paths: [driver.folder] })).toMatchObject({
      code: 'file_not_found',
    });
    expect(await driver.fault('file_upload', { target, paths: [file, file] })).toMatchObject({ code: 'not_editable' });
    expect(await driver.fault('file_upload', { target, document_ids: ['doc_1'] })).toMatchObject({
      code: 'file_not_found',
    });
    await driver.act('left_click', { target });
    expect((await driver.act('wait', { duration: 0.1 })).acted.text ?? '').toMatch(/file_upload|^$/);
  });

  it('runs scripts and says the value of the last expression, or what went wrong, and ends one that does not end', async () => {
    await show('<p id=p>x</p>');
    expect(await driver.value('const a = 1; a + 1')).toBe('2');
    expect(await driver.value('await Promise.resolve({ b: [1, "ü"] })')).toBe('{\n "b": [\n  1,\n  "ü"\n ]\n}');
    expect(await driver.value('undefined')).toBe('undefined');
    expect(await driver.value('10n')).toBe('10n');
    expect(await driver.fault('javascript_exec', { text: 'nothing.there' })).toMatchObject({
      sort: 'page',
      code: 'script_failed',
      message: expect.stringContaining('nothing is not defined'),
    });
    expect(await driver.fault('javascript_exec', { text: 'syntax error here' })).toMatchObject({
      code: 'script_failed',
    });
    expect(await driver.fault('javascript_exec', { text: 'for (;;);' }, 700)).toMatchObject({
      code: 'action_timeout',
      unknownEnd: true,
    });
    expect(await driver.value('p.textContent')).toBe('x');
  });
});
