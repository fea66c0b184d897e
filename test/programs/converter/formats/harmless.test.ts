/**
 * What a document may not put into Markdown, whatever it holds: a link that runs code, and HTML. Judged by the parser that shows
 * Markdown in the product, since what counts is how it is read and not how it was written.
 */
import { utils, write } from '@e965/xlsx';
import { array, assert, asyncProperty, constantFrom } from 'fast-check';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { describe, expect, it } from 'vitest';
import { escapeHtml } from '../../../../src/programs/converter/markdown/escape.ts';
import { makePdf } from '../../../support/documents/pdf.ts';
import { converted, relationships, spaces, xmlHead, zipOf } from './documents.ts';

interface Node {
  readonly type: string;
  readonly url?: string;
  readonly value?: string;
  readonly children?: readonly Node[];
}

/** Every node of the tree that a reader makes of it. */
function nodesOf(markdown: string): Node[] {
  const nodes: Node[] = [];
  const take = (node: Node): void => {
    nodes.push(node);
    for (const each of node.children ?? []) take(each);
  };
  renderToStaticMarkup(
    createElement(
      Markdown,
      { remarkPlugins: [remarkGfm, () => take as (tree: unknown) => void], components: { img: () => null } },
      markdown,
    ),
  );
  return nodes;
}

/** Elements that conversions write themselves: there is no Markdown for them. */
const meant = /^(?:<\/?(?:sup|sub)>|<br>|<!-- Slide number: \d+(?: \(hidden\))? -->)$/;
/** A picture that lies in the document is named by its kind alone. */
const placeholder = /^data:[\w.+/-]+;base64\.\.\.$/;

function harms(markdown: string): string[] {
  return nodesOf(markdown).flatMap((node) => {
    if (node.type === 'html') return meant.test(node.value ?? '') ? [] : [`HTML ${node.value}`];
    if (node.url === undefined) return [];
    if (node.type === 'image' && (placeholder.test(node.url) || node.url.startsWith('cid:'))) return [];
    // As a browser reads it, which drops control characters and white space.
    const scheme = URL.parse(node.url, 'https://page.example/')?.protocol ?? 'https:';
    return ['http:', 'https:', 'mailto:', 'tel:'].includes(scheme) ? [] : [`${node.type} ${node.url}`];
  });
}

const part = (main: string) => relationships(['rId1', 'officeDocument', main]);
const attribute = (text: string) => escapeHtml(text).replace(/[\n\r\t]/g, (char) => `&#${char.charCodeAt(0)};`);

/** Everything that HTML can bring: `address` where an address stands, `text` where words stand. */
function page(address: string, text: string): string {
  const [at, words] = [attribute(address), attribute(text)];
  return (
    `<p><a href="${at}" title="${words}">${words}</a><span>${words}</span><i>${words}</i><b>\\</b><span>&lt;</span><span>${words}</span></p>` +
    `<p><a href="https://a.example/">x <a href="${at}" title="${words}">y</a> z</a><img src="${at}" alt="${words}" title="${words}"> &quot;&gt;</p>` +
    `<p><code>${words}</code><code>${words}</code> <math alttext="${words}"></math><script type="math/tex">${text.replaceAll('</', '')}</script><kbd>${words}</kbd></p>` +
    `<table><tr><th>${words}</th></tr><tr><td>${words}<code>${words}\\|${words}</code></td></tr></table><pre>${words}</pre><dl><dt>${words}<b>${words}</b></dt></dl>` +
    `<h2>${words}</h2><ul><li>${words}</li></ul><sup>${words}</sup>`
  );
}

const paths: Readonly<Record<string, (address: string, text: string) => Uint8Array | string>> = {
  html: (address, text) =>
    `<html><head><title>${attribute(text)}</title></head><body>${page(address, text)}</body></html>`,
  epub: (address, text) =>
    zipOf({
      'META-INF/container.xml': `${xmlHead}<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>`,
      'a.opf': `${xmlHead}<package><metadata><title>${attribute(text)}</title></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>`,
      'a.xhtml': `<html><body>${page(address, text)}</body></html>`,
    }),
  rss: (address, text) =>
    `${xmlHead}<rss><channel><title>${attribute(text)}</title><item><title>${attribute(text)}</title><link>${attribute(address)}</link><author>${attribute(text)}</author><enclosure url="${attribute(address)}"/><description>${escapeHtml(page(address, text))}</description></item></channel></rss>`,
  atom: (address, text) =>
    `${xmlHead}<feed xmlns="http://www.w3.org/2005/Atom"><title>${attribute(text)}</title><entry><title>x</title><link href="${attribute(address)}"/><content type="text">${attribute(text)}</content></entry></feed>`,
  eml: (address, text) =>
    `From: a@example.org\r\nTo: b@example.org\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(page(address, text)).toString('base64')}`,
  'eml of text': (address, text) =>
    `From: a@example.org\r\nTo: b@example.org\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${text} ${address}\r\n\r\n--B\r\nContent-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\n# ${text}\r\n[x](${address})\r\n--B--\r\n`,
  docx: (address, text) =>
    zipOf({
      '_rels/.rels': part('word/document.xml'),
      'word/_rels/document.xml.rels': relationships(['rId9', 'hyperlink', attribute(address), true]),
      'word/document.xml': `${xmlHead}<w:document ${spaces}><w:body><w:p><w:hyperlink r:id="rId9"><w:r><w:t>${attribute(text)}</w:t></w:r></w:hyperlink><w:r><w:t>\\</w:t></w:r><w:r><w:rPr><w:i/></w:rPr><w:t>${attribute(text)}</w:t></w:r><m:oMath><m:r><m:t>${attribute(text)}</m:t></m:r></m:oMath></w:p></w:body></w:document>`,
    }),
  pptx: (address, text) =>
    zipOf({
      '_rels/.rels': part('ppt/presentation.xml'),
      'ppt/presentation.xml': `${xmlHead}<p:presentation ${spaces}><p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>`,
      'ppt/_rels/presentation.xml.rels': relationships(['rId1', 'slide', 'slides/slide1.xml']),
      'ppt/slides/_rels/slide1.xml.rels': relationships(['rId7', 'hyperlink', attribute(address), true]),
      'ppt/slides/slide1.xml': `${xmlHead}<p:sld ${spaces}><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="rId7"/></a:rPr><a:t>${attribute(text)}</a:t></a:r><a:r><a:t>\\</a:t></a:r><a:r><a:rPr i="1"/><a:t>${attribute(text)}</a:t></a:r><m:oMath><m:r><m:t>${attribute(text)}</m:t></m:r></m:oMath></a:p></p:txBody></p:sp><p:pic><p:nvPicPr><p:cNvPr id="5" name="P" descr="${attribute(text)}"/></p:nvPicPr></p:pic></p:spTree></p:cSld></p:sld>`,
    }),
  xlsx: (address, text) => {
    const sheet = utils.aoa_to_sheet([['head'], [text || 'x']]);
    Object.assign(sheet.A2 as object, { l: { Target: attribute(address) } });
    const book = utils.book_new();
    utils.book_append_sheet(book, sheet, 'S');
    return new Uint8Array(write(book, { type: 'buffer', bookType: 'xlsx' }));
  },
  rtf: (address, text) => {
    const plain = (words: string) => words.replace(/[\\{}]/g, '\\$&').replace(/[\n\r\t]/g, ' ');
    return `{\\rtf1\\ansi\\pard {\\field{\\*\\fldinst{HYPERLINK "${plain(address).replaceAll('"', '')}"}}{\\fldrslt ${plain(text)}}}\\\\{\\i ${plain(text)}}\\par}`;
  },
  pdf: (address, text) =>
    makePdf([
      {
        texts: [{ text: text.replace(/[\n\r\t]/g, ' '), x: 60, y: 100 }],
        links: [{ url: address.replace(/[\n\r\t]/g, ''), rect: [50, 80, 500, 110] }],
      },
    ]),
  zip: (address, text) =>
    zipOf({ [`${text.replace(/[\n\r\t]/g, '')}.zip`]: 'PK\u0003\u0004', 'a.txt': `${text} [x](${address})` }),
};

const known = [
  'javascript:alert(1)',
  'javascript\\:alert(1)',
  'javascript&colon;alert(1)',
  '&#106;avascript:alert(1)',
  '&amp;#106;avascript:alert(1)',
  '&#x6A;avascript&#58;alert(1)',
  'java\tscript:alert(1)',
  'java&Tab;script:alert(1)',
  'java\\\nscript:alert(1)',
  ' \u00a0javascript:alert(1)',
  'vbscript:x',
  'data:text/html,<script>alert(1)</script>',
  'file:///etc/passwd',
  'img src=x onerror=alert(1)',
  'https://a.example/) <img src=x onerror=alert(1)> [x](javascript:alert(1)',
  '[x](javascript:alert(1))',
  '\\',
];
const words = [
  '<img src=x onerror=alert(1)>',
  '[x](javascript:alert(1))',
  'img src=x onerror=alert(1)>',
  '](javascript:alert(1))',
  '`',
  '``',
  '\\',
  '|',
  '<',
  '>',
  '&lt;',
  '!',
  '"',
  '*',
  '_',
  '$',
  '[',
  ']',
  '(',
  ')',
  '<!--',
  '-->',
  '<a href="',
  '<https:',
  '[a]: javascript:alert(1)',
  'https://a.example/',
  'www.a.example/',
  'x',
  ' ',
  '\n',
];
describe.each(Object.entries(paths))('%s', (kind, make) => {
  const check = async (address: string, text: string) => {
    const result = await converted(make(address, text), {
      filename: `a.${kind.split(' ')[0]}`,
    });
    expect({ harms: harms(result.markdown), markdown: result.markdown }).toEqual({
      harms: [],
      markdown: result.markdown,
    });
  };

  it('writes no address that runs, as a reader of Markdown reads it', async () => {
    for (const address of known) await check(address, 'words');
  });

  it('writes no HTML and no link out of what is text', async () => {
    for (const text of words) await check('https://a.example/?a=1&b=2', text);
  });

  it('holds for any mixture of both', async () => {
    const mixture = array(constantFrom(...words, ...known), { maxLength: 6 });
    await assert(
      asyncProperty(mixture, mixture, (address, text) => check(address.join(''), text.join(''))),
      { numRuns: 40 },
    );
  });
});

it('an honest address stands as it is', async () => {
  const honest = [
    'https://a.example/a_(b)?c=1&d=2#e',
    'mailto:a@example.org',
    'tel:+1234',
    '#part',
    '../up/a%20b.html',
    'x?a=1&copy=2',
  ];
  const { markdown } = await converted(
    `<html><body>${honest.map((address) => `<p><a href="${attribute(address)}">x</a></p>`).join('')}</body></html>`,
  );
  expect(markdown.split('\n\n')).toEqual(honest.map((address) => `[x](${address})`));
  expect(nodesOf(markdown).flatMap((node) => (node.type === 'link' ? [node.url] : []))).toEqual(honest);
});
