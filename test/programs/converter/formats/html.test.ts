import { describe, expect, it } from 'vitest';
import { converted, xmlHead, zipOf } from './documents.ts';

const sentence = 'This is a rather long sentence about the thing itself, with commas, and it goes on for a while. ';
const story = Array.from({ length: 6 }, (_, index) => `<p>${index} ${sentence.repeat(4)}</p>`).join('');

describe('a web page', () => {
  it('is read as a browser reads it, whatever stands around, between and after head and body', async () => {
    const pages = [
      '<div>before</div><html><head><title>T</title></head><body><p>words here</p></body></html><p>after</p>',
      '<!-- c --><style>x{}</style><html><script>1</script><head></head><div>between</div><body class="x"><p>words here</p></body><div>after</div></html>',
      '<link rel="x"><meta charset="utf-8"><head></head><table><tr><td>words here<td>and there</table>',
      '<title>T</title><body><p>words here<p>unclosed<div>more</p></span></div>',
      `<html><head><title>T</title><div>results ${'x '.repeat(50)}</div></head><body>${'<p>words here</p>'.repeat(200)}</body></html>`,
      '<body><p>one</p></body><body data-again><p>words here</p>',
    ];
    for (const page of pages) expect((await converted(page, { filename: 'a.html' })).markdown).toContain('words here');
    expect((await converted(pages[0] ?? '', { filename: 'a.html' })).markdown).toMatch(
      /before[\s\S]*words here[\s\S]*after/,
    );
    expect((await converted(pages[1] ?? '', { filename: 'a.html' })).markdown).toMatch(
      /between[\s\S]*words here[\s\S]*after/,
    );
  });

  it('does not grow without end by emphasis and blocks that are never closed', async () => {
    const bombs = [
      `${Array.from({ length: 1500 }, (_, index) => `<b a=${index}>`).join('')}${'<p>x'.repeat(1500)}`,
      '<div>'.repeat(20_000),
      '<table>'.repeat(5000),
      '<p><b>'.repeat(5000),
    ];
    for (const bomb of bombs) {
      const { markdown } = await converted(`<body>${bomb}words here`, { filename: 'a.html' });
      expect(markdown.length).toBeLessThan(1_000_000);
      expect(markdown).toContain('words here');
    }
  });

  it('says of each box whether it is checked', async () => {
    const { markdown } = await converted(
      '<body><ul><li><input type="checkbox" checked> done</li><li><input type=checkbox disabled> open</li><li><label><input type="checkbox" checked=""> labelled</label></li><li><p><input type="checkbox" checked> in a paragraph</p></li></ul><p><input type="checkbox" checked> agreed</p></body>',
    );
    expect(markdown.split('\n').filter((line) => line !== '')).toEqual([
      '* [x] done',
      '* [ ] open',
      '* [x] labelled',
      '* [x] in a paragraph',
      '[x] agreed',
    ]);
  });

  it('keeps the spaces of code that pages set in tables, without its line numbers', async () => {
    const code = 'def f(a):\n    if a:\n        return "<b>"\n\n    return 1';
    const lines = code.split('\n');
    const shown = (text: string) => text.replaceAll('<', '&lt;');
    const pages = [
      `<table class="highlighttable"><tr><td class="linenos"><pre>1\n2\n3\n4\n5</pre></td><td class="code"><div class="highlight language-py"><pre>${shown(code)}\n</pre></div></td></tr></table>`,
      `<table>${lines.map((line, index) => `<tr><td class="blob-num" data-line="${index + 1}"></td><td class="blob-code blob-code-inner">${shown(line)}</td></tr>`).join('')}</table>`,
      `<table>${lines.map((line, index) => `<tr><td>${index + 1}</td><td><pre>${shown(line)}</pre></td></tr>`).join('')}</table>`,
    ];
    for (const page of pages) {
      const { markdown } = await converted(`<body><p>Look:</p>${page}</body>`);
      expect(markdown.replace('```py', '```')).toBe(`Look:\n\n\`\`\`\n${code}\n\`\`\``);
    }
    const beside = await converted(
      '<body><table><tr><th>Name</th><th>Code</th></tr><tr><td>loop</td><td><pre>for a in b:\n    go(a)</pre></td></tr></table></body>',
    );
    expect(beside.markdown).toContain('| loop | `for a in b:`<br>`    go(a)` |');
  });

  it('gives headings, links with titles, nested lists, code, quotes and tables', async () => {
    const result = await converted(
      `<!doctype html><html lang="en"><head><title>Guide – Site</title><meta name="description" content="All of it"></head><body>
      <h1>Guide</h1><p>See <a href="/wiki/Bill_Gates" title="Bill Gates">Bill Gates</a>, <b>bold</b> and <em>slanted</em>, H<sub>2</sub>O.</p>
      <ul><li>one<ul><li>deeper</li></ul></li><li>two</li></ul><ol start="3"><li>three</li><li>four</li></ol>
      <pre><code class="language-ts">const a = \`x\`;\n  return;</code></pre><blockquote><p>Said</p></blockquote>
      <table><thead><tr><th>Name</th><th>Count</th></tr></thead><tbody><tr><td rowspan="2">a|b</td><td>1<br>2</td></tr><tr><td>3</td></tr></tbody></table>
      <p><img src="https://example.org/a.png" alt="A map"> <img src="data:image/png;base64,AAAA" alt="inside"></p></body></html>`,
      { filename: 'guide.html' },
    );
    expect(result.markdown).toBe(
      '# Guide\n\nSee [Bill Gates](/wiki/Bill_Gates "Bill Gates"), **bold** and *slanted*, H<sub>2</sub>O.\n\n' +
        '* one\n  * deeper\n* two\n\n3. three\n4. four\n\n```ts\nconst a = `x`;\n  return;\n```\n\n> Said\n\n' +
        '| Name | Count |\n| --- | --- |\n| a\\|b | 1<br>2 |\n|  | 3 |\n\n' +
        '![A map](https://example.org/a.png) ![inside](data:image/png;base64...)',
    );
    expect(result.metadata).toMatchObject({ title: 'Guide – Site', description: 'All of it', language: 'en' });
    expect(result.notes).toEqual([]);
  });

  it('finds the main content by what a page declares, by looking like an article, or by what stands around it', async () => {
    const around = '<nav><a href="/">Home sweet home</a></nav>';
    const foot = '<footer>All rights reserved</footer>';
    const pages = [
      `<title>T</title>${around}<main><h2>Story</h2>${story}<aside>See also</aside></main>${foot}`,
      `<title>T</title><div class="navbar">Home sweet home</div><div><h2>Story</h2>${story}</div><div id="sidebar">See also</div><div class="site footer">All rights reserved</div>`,
      `<title>T</title>${around}<div><h2>Story</h2><p>Short.</p></div>${foot}`,
      `<title>T</title><div id="mw-panel">Home sweet home</div><div id="mw-content-text"><h2>Story</h2>${story}</div>${foot}`,
    ];
    for (const page of pages) {
      const result = await converted(`<html><body>${page}</body></html>`, { filename: 'a.html' });
      expect(result.markdown).toContain('# T\n\n## Story');
      expect(result.markdown).not.toMatch(/Home sweet home|All rights reserved|See also/);
      expect(result.notes.join(' ')).toContain('Only the main content');
    }
  });

  it('gives all of a document that has nothing around it', async () => {
    const result = await converted(
      '<html><body><h1>Report</h1><div><p>First</p></div><form><p>Second</p></form></body></html>',
    );
    expect(result.markdown).toBe('# Report\n\nFirst\n\nSecond');
  });

  it('runs, shows and fetches nothing that a page would', async () => {
    const result = await converted(
      `<html><body><script>document.write('written')</script><style>p{}</style><p>Seen<span style="display:none">unseen</span></p>
      <p hidden>unseen</p><a href=" java&#10;script:alert(1)">trap</a> <a href="JaVaScRiPt:x">two</a> <img src="vbscript:x" alt="three">
      &lt;script&gt;text&lt;/script&gt; [x](javascript:y)<iframe src="https://example.org">frame</iframe></body></html>`,
    );
    expect(result.markdown).toBe('Seen\n\ntrap two three &lt;script>text&lt;/script> \\[x\\](javascript:y)');
  });

  it('reads the charset that is declared, and the one that was given', async () => {
    const body = Buffer.concat([
      Buffer.from('<html><head><meta charset="windows-1251"></head><body><p>'),
      Buffer.from([0xcf, 0xf0, 0xe8]),
      Buffer.from('</p></body></html>'),
    ]);
    expect((await converted(body)).markdown).toBe('При');
    const given = Buffer.concat([
      Buffer.from('<html><body><p>'),
      Buffer.from([0x93, 0xfa, 0x96, 0x7b]),
      Buffer.from('</p></body></html>'),
    ]);
    expect((await converted(given, { mimeType: 'text/html; charset=shift_jis' })).markdown).toBe('日本');
  });

  it('leaves out what only serves the page: links of headings to themselves, buttons beside text', async () => {
    const result = await converted(
      '<html><body><h2><a href="#a">§</a>Part <button>Copy</button></h2><h3><a href="#b">Self</a></h3><h4><button>Folded</button></h4><p><a href="#c">down</a></p></body></html>',
    );
    expect(result.markdown).toBe('## Part\n\n### Self\n\n#### Folded\n\n[down](#c)');
  });

  it('keeps TeX of formulas', async () => {
    const result = await converted(
      '<html><body><p>So <math><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></math> holds.</p><math display="block" alttext="y=1"><mi>y</mi></math></body></html>',
    );
    expect(result.markdown).toBe('So $x^2$ holds.\n\n$$y=1$$');
  });

  it('stands pages that are deep, long or without text', async () => {
    const deep = await converted(`<html><body>${'<div>'.repeat(5000)}deep${'</div>'.repeat(5000)}</body></html>`);
    expect(deep.markdown).toBe('deep');
    const long = await converted(`<html><body>${'<p>A paragraph with <b>words</b>.</p>'.repeat(2000)}</body></html>`);
    expect(long.markdown.split('\n\n')).toHaveLength(2000);
    const wide = await converted(
      `<html><body><table><tr><td colspan="100000000">a</td><td>b</td></tr><tr><td>c</td></tr></table></body></html>`,
    );
    expect(wide.markdown.length).toBeLessThan(2000);
    const empty = await converted('<html><body><div id="root"></div><script src="app.js"></script></body></html>');
    expect(empty.notes.join(' ')).toContain('scripts, which are not run');
  });
});

describe('a book', () => {
  const container = `${xmlHead}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>`;
  const chapter = (body: string) =>
    `${xmlHead}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>${body}</body></html>`;
  const book = (more: Record<string, string> = {}) =>
    zipOf({
      mimetype: 'application/epub+zip',
      'META-INF/container.xml': container,
      'OEBPS/content.opf': `${xmlHead}<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>A Test Book</dc:title><dc:creator>Test Author</dc:creator><dc:creator>Another</dc:creator><dc:language>en</dc:language></metadata><manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/><item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/><item id="b" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="nav"/><itemref idref="b"/><itemref idref="a"/><itemref idref="gone"/></spine></package>`,
      'OEBPS/nav.xhtml': chapter(
        '<nav epub:type="toc"><ol><li><a href="text/one.xhtml">Contents here</a></li></ol></nav>',
      ),
      'OEBPS/text/one.xhtml': chapter(
        '<h1>Chapter 1: Test Content</h1><p>This is a <strong>test</strong> with <a href="two%20b.xhtml#x">a reference</a> and <a href="https://example.org/">a link</a>.</p><ul><li>A bullet point</li></ul>',
      ),
      'OEBPS/text/two b.xhtml': chapter(
        '<h1>Chapter 2</h1><p><a id="x"/><em>different</em> style</p><blockquote><p>Quoted</p></blockquote>',
      ),
      ...more,
    });

  it('gives its chapters in the order of the spine under what it says of itself, without the navigation', async () => {
    const result = await converted(book());
    expect(result.markdown).toBe(
      '**Title:** A Test Book  \n**Authors:** Test Author, Another  \n**Language:** en\n\n# Chapter 2\n\n*different* style\n\n> Quoted\n\n' +
        '# Chapter 1: Test Content\n\nThis is a **test** with a reference and [a link](https://example.org/).\n\n* A bullet point',
    );
    expect(result.metadata).toMatchObject({ title: 'A Test Book', authors: ['Test Author', 'Another'] });
    expect(result.notes).toEqual(['Chapters named in the book but not in the file: 1.']);
  });

  it('says that a protected book is protected', async () => {
    const protectedBook = book({
      'META-INF/encryption.xml': `${xmlHead}<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData><enc:CipherReference URI="OEBPS/text/one.xhtml"/></enc:CipherData></enc:EncryptedData></encryption>`,
    });
    await expect(converted(protectedBook)).rejects.toMatchObject({ code: 'encrypted' });
  });
});

describe('a feed', () => {
  it('gives the entries of RSS with links, dates, authors and their HTML', async () => {
    const result = await converted(
      `${xmlHead}<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>The Blog</title><atom:link href="https://example.org/feed" rel="self"/><link>https://example.org/</link><description>News &amp; more</description>
      <item><title>First &lt;b&gt;entry&lt;/b&gt;</title><link>https://example.org/1</link><pubDate>Tue, 19 Nov 2024 13:30:00 +0000</pubDate><dc:creator>Ada</dc:creator><description>short</description><content:encoded><![CDATA[<p>In <a href="/case">the case</a> &amp; more</p><ul><li>x</li></ul><script>y</script>]]></content:encoded></item></channel></rss>`,
    );
    expect(result.markdown).toBe(
      '# The Blog\n\nNews & more\n\n## First **entry**\n\nPublished: Tue, 19 Nov 2024 13:30:00 +0000  \nAuthor: Ada  \n' +
        'Link: [https://example.org/1](https://example.org/1)\n\nIn [the case](https://example.org/case) & more\n\n* x',
    );
    expect(result.metadata).toMatchObject({ title: 'The Blog', url: 'https://example.org/', items: 1 });
  });

  it('gives the entries of Atom, text and XHTML', async () => {
    const result = await converted(
      `${xmlHead}<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Notes</title><entry><title>One</title><link rel="edit" href="https://example.org/e"/><link href="https://example.org/one"/><updated>2024-01-02T03:04:05Z</updated><author><name>Bea</name></author><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Some <em>words</em></p></div></content></entry><entry><title>Two</title><link href="javascript:x"/><summary type="text">a &lt; b</summary></entry></feed>`,
    );
    expect(result.markdown).toBe(
      '# Notes\n\n## One\n\nPublished: 2024-01-02T03:04:05Z  \nAuthor: Bea  \nLink: [https://example.org/one](https://example.org/one)\n\nSome *words*\n\n## Two\n\na < b',
    );
    expect(result.metadata).toMatchObject({ language: 'de' });
  });

  it('expands no entity and refuses what is broken', async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "lollol"><!ENTITY b "${'&a;'.repeat(1000)}">]><rss><channel><title>T &b;</title></channel></rss>`;
    expect((await converted(bomb)).markdown).not.toContain('lollol');
    await expect(converted('<?xml version="1.0"?><rss><channel></channel></rss>')).rejects.toMatchObject({
      code: 'damaged',
    });
    await expect(converted(`<?xml version="1.0"?><rss>${'<a>'.repeat(5000)}</rss>`)).rejects.toMatchObject({
      code: 'damaged',
    });
  });
});
