// Runs apart: it drives a display or a browser by their real events, whose order another load changes.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectDisplay } from '../../../../src/programs/executor/desktop/display.ts';
import { createHand, createLab, createProbe, type Hand, type Lab, missing } from './lab.ts';

const browserMissing = spawnSync('sh', ['-c', 'test -x /usr/bin/chromium']).status !== 0;
if (browserMissing) console.warn('Typing into a browser is not tested: Chromium is not installed here.');

const rounds = 5;
const texts = {
  ASCII: 'The quick {brown} fox; [jumps] "over" ~13 `lazy` dogs & 42% <of> them \\o/ #$@!^*()_+-=|:\'?,.',
  'Latin accents': 'Hi, wörld: façade, naïve, ÆØÅ æøå, señor, straße, Œuvre, ½ €',
  CJK: '日本語のテキスト、中文字符、한국어',
  emoji: 'thumbs 👍🏽 family 👨‍👩‍👧 flag 🇳🇴 face 😀',
  lines: 'first line\n\tsecond, indented\n\nfourth line: ünï',
} as const;

describe.skipIf(missing !== null || browserMissing)('typing into a browser', () => {
  let lab: Lab;
  let hand: Hand;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    lab = await createLab('1280x800');
    hand = createHand(lab.env);
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      headless: false,
      env: lab.env as Record<string, string>,
      args: [
        ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
        ...['--disable-sync', '--disable-quic', '--no-first-run', '--start-maximized'],
      ],
    });
    page = await (await browser.newContext({ viewport: null })).newPage();
    await page.setContent('<textarea style="position:fixed;inset:0;font:16px monospace"></textarea>');
    await hand.do('left_click', { coordinate: [640, 500] });
    await page.waitForFunction('document.activeElement?.tagName === "TEXTAREA"');
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await hand?.desktop.close();
    await lab?.stop();
  });
  const area = "document.querySelector('textarea')";
  const value = () => page.evaluate<string>(`${area}.value`);
  const clear = () => page.evaluate(`${area}.value = ''`);

  test.each(Object.entries(texts))('%s comes out as it went in, five times of five', async (_, text) => {
    for (let round = 0; round < rounds; round += 1) {
      await clear();
      await hand.do('type', { text });
      await expect.poll(value).toBe(text);
    }
  });

  test.each(['de', 'fr', 'ru,us', 'us(dvorak)', 'dk', 'gr'])(
    'ASCII is right in the layout %s, and so is what has no key there',
    async (layout) => {
      const [, name, variant] = /^([^(]+)(?:\((.*)\))?$/.exec(layout)!;
      spawnSync('setxkbmap', [name!, ...(variant === undefined ? [] : ['-variant', variant])], { env: lab.env });
      try {
        await clear();
        await hand.do('type', { text: texts.ASCII });
        await expect.poll(value).toBe(texts.ASCII);
        await clear();
        await hand.do('type', { text: texts.CJK });
        await expect.poll(value).toBe(texts.CJK);
      } finally {
        spawnSync('setxkbmap', ['us'], { env: lab.env });
      }
    },
  );

  test('caps lock changes nothing', async () => {
    await hand.do('key', { text: 'Caps_Lock' });
    await clear();
    await hand.do('type', { text: 'Mixed Case 1!' });
    await expect.poll(value).toBe('Mixed Case 1!');
    await hand.do('key', { text: 'Caps_Lock' });
  });

  test('a line break at the end is Return, CRLF is one line break', async () => {
    await clear();
    expect((await hand.do('type', { text: 'one\r\n' })).text).toBe('Typed 5 characters by keys.');
    await expect.poll(value).toBe('one\n');
    await clear();
    expect((await hand.do('type', { text: 'zwölf\n\n' })).text).toContain('clipboard');
    await expect.poll(value).toBe('zwölf\n\n');
  });

  test('the longest text arrives whole, both ways', async () => {
    for (const one of ['a b', 'å 日']) {
      await clear();
      const text = one.repeat(6_000).slice(0, 20_000);
      await hand.do('type', { text });
      await expect.poll(value).toBe(text);
    }
  });

  test('what was in the clipboard is there again after a paste', async () => {
    await page.evaluate(`${area}.value = 'copied: päron'; ${area}.select()`);
    const display = await connectDisplay({ DISPLAY: lab.display }, 'linux');
    const clipboard = await display.must<number>((reply) => display.client.InternAtom(false, 'CLIPBOARD', reply));
    const owner = () => display.must<number>((reply) => display.client.GetSelectionOwner(clipboard, reply));
    const before = await owner();
    await page.evaluate(
      `void (window.copied = new Promise((resolve) => document.addEventListener('copy', () => resolve(), { once: true })))`,
    );
    await hand.do('key', { text: 'ctrl+c' });
    await page.evaluate('window.copied');
    // The page has copied; the browser takes the clipboard over a moment later.
    await expect.poll(owner).not.toBeOneOf([0, before]);
    await clear();
    await hand.do('type', { text: 'något annat' });
    await expect.poll(value).toBe('något annat');
    await clear();
    await hand.do('key', { text: 'ctrl+v' });
    await expect.poll(value).toBe('copied: päron');
    display.close();
  });
});

describe.skipIf(missing !== null)('typing into a terminal', () => {
  let lab: Lab;
  let hand: Hand;
  beforeAll(async () => {
    lab = await createLab('800x600');
    hand = createHand(lab.env);
  });
  afterAll(async () => {
    await hand?.desktop.close();
    await lab?.stop();
  });

  test('text that nothing takes is said; what has keys only is typed by them', async () => {
    const probe = await createProbe(lab);
    expect(await hand.fault('type', { text: 'ingen där ö' })).toBe('not_editable');
    probe.events.length = 0;
    await hand.do('type', { text: 'x'.repeat(600) });
    await expect.poll(() => probe.words().filter((word) => word === 'key 53').length).toBe(600);
    probe.close();
  });

  test.each(['plain ASCII $HOME', 'åäö 日本 👍', 'two\nlines of it'])('%j reaches the program inside', async (text) => {
    const file = join(lab.home, 'typed');
    writeFileSync(file, '');
    const title = JSON.stringify(`for ${text.length}`);
    const terminal = lab.run('xterm', [
      '-u8',
      '-T',
      `for ${text.length}`,
      '-fullscreen',
      '-e',
      'sh',
      '-c',
      `cat > ${file}`,
    ]);
    await expect
      .poll(
        async () =>
          (await hand.desktop.look({ do: 'look', place: { kind: 'desktop' }, member: 'type', input: {} })).element,
      )
      .toBe(`window ${title}`);
    await hand.do('type', { text: `${text}\n` });
    await expect.poll(() => readFileSync(file, 'utf8')).toBe(`${text}\n`);
    await hand.do('key', { text: 'ctrl+d' });
    await expect.poll(() => terminal.exitCode).toBe(0);
  });
});
