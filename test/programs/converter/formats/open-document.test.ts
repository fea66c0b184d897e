import { describe, expect, it } from 'vitest';
import { converted, openDocument } from './documents.ts';

const text = (body: string, styles = '', more = {}) =>
  openDocument('text', `<office:text>${body}</office:text>`, styles, more);
const p = (said: string, style = '') => `<text:p${style === '' ? '' : ` text:style-name="${style}"`}>${said}</text:p>`;
const look = (name: string, properties: string, parent = '') =>
  `<style:style style:name="${name}" style:family="text"${parent === '' ? '' : ` style:parent-style-name="${parent}"`}><style:text-properties ${properties}/></style:style>`;
const styles = [
  look('B', 'fo:font-weight="bold"'),
  look('I', 'fo:font-style="italic"', 'B'),
  look('S', 'style:text-line-through-style="solid"'),
  look('U', 'style:text-position="super 58%"'),
  '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>',
  `<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1"/><text:list-level-style-bullet text:level="2"/></text:list-style>`,
].join('');
const list = (items: readonly string[], more = '') =>
  `<text:list text:style-name="N"${more}>${items.map((item) => `<text:list-item>${item}</text:list-item>`).join('')}</text:list>`;

describe('a text document of OpenDocument', () => {
  it('keeps headings, emphasis, links, code, tables, notes and comments', async () => {
    const { markdown, metadata, kind, notes } = await converted(
      text(
        '<text:h text:outline-level="2">A part</text:h>' +
          p(
            'Some <text:span text:style-name="B">bold</text:span>, <text:span text:style-name="I">both</text:span>, <text:span text:style-name="S">gone</text:span>, x<text:span text:style-name="U">2</text:span>, <text:a xlink:href="https://example.com/a">a link</text:a> &lt;and&gt; *stars*.',
          ) +
          p('def f():', 'P1') +
          p('<text:s text:c="4"/>return 1', 'P1') +
          '<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell><table:table-cell><text:p>Count</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>wide</text:p></table:table-cell><table:covered-table-cell/></table:table-row><table:table-row><table:table-cell><text:p>a|b</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table>' +
          p(
            'Said<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Below.</text:p></text:note-body></text:note> and<office:annotation><dc:creator>Bea_[B]</dc:creator><text:p>Why?</text:p></office:annotation> done.',
          ) +
          p('<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:desc>A map</svg:desc></draw:frame>') +
          '<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>',
        styles,
      ),
      { filename: 'plan.odt' },
    );
    expect(markdown).toBe(
      '## A part\n\nSome **bold**, ***both***, ~~gone~~, x<sup>2</sup>, [a link](https://example.com/a) &lt;and> \\*stars\\*.\n\n' +
        '```\ndef f():\n    return 1\n```\n\n| Name | Count |\n| --- | --- |\n| wide |  |\n| a\\|b | 2 |\n\n' +
        'Said[^1] and[^comment-1] done.\n\n![A map](data:image/png;base64...)\n\n[^1]: Below.\n\n[^comment-1]: **Comment by Bea\\_\\[B\\]:** Why?',
    );
    expect(kind).toBe('odt');
    expect(metadata).toMatchObject({ title: 'The plan', author: 'Ada Writer', pages: 2 });
    expect(notes.join()).toContain('tracked changes');
  });

  it('counts a list on where the document says so, and begins another one anew', async () => {
    const { markdown } = await converted(
      text(
        list([p('one') + list([p('dot')]), p('two')]) +
          p('Between.') +
          list([p('three')], ' text:continue-numbering="true"') +
          p('And.') +
          list([p('one again')]),
        styles,
      ),
    );
    expect(markdown).toBe('1. one\n   * dot\n2. two\n\nBetween.\n\n3. three\n\nAnd.\n\n1. one again');
  });

  it('says that it is encrypted, and runs and follows nothing that it holds', async () => {
    const manifest = { 'META-INF/manifest.xml': '<manifest><file-entry><encryption-data/></file-entry></manifest>' };
    await expect(converted(text(p('x'), '', manifest))).rejects.toMatchObject({ code: 'encrypted' });
    const { markdown } = await converted(
      text(p('<text:a xlink:href="javascript:alert(1)">go</text:a> &lt;script&gt;1&lt;/script&gt;')),
    );
    expect(markdown).toBe('go &lt;script>1&lt;/script>');
  });

  it('does not repeat tables within tables to more than it may unpack', async () => {
    const repeated = (inner: string) =>
      `<table:table><table:table-row table:number-rows-repeated="100"><table:table-cell table:number-columns-repeated="100">${inner}</table:table-cell></table:table-row></table:table>`;
    await expect(converted(text(repeated(repeated(repeated(p('x'))))))).rejects.toMatchObject({ code: 'too_large' });
    expect((await converted(text(repeated(p('x'))))).markdown).toContain('| x | x |');
  });
});

describe('a presentation of OpenDocument', () => {
  it('gives each slide with its title first, its text, and what the speaker notes', async () => {
    const frame = (content: string, more = '') =>
      `<draw:frame${more}><draw:text-box>${content}</draw:text-box></draw:frame>`;
    const slide = (body: string) => `<draw:page>${body}</draw:page>`;
    const { markdown, metadata, kind } = await converted(
      openDocument(
        'presentation',
        `<office:presentation>${slide(
          frame(list([p('first'), p('second')]).replaceAll('"N"', '"L"')) +
            frame(p('Title *here*'), ' presentation:class="title"') +
            `<presentation:notes>${frame(p('Say hello.'), ' presentation:class="notes"')}</presentation:notes>`,
        )}${slide('<draw:g><draw:custom-shape><text:p>In a shape</text:p></draw:custom-shape></draw:g>')}</office:presentation>`,
      ),
    );
    expect(markdown).toBe(
      '<!-- Slide number: 1 -->\n\n# Title \\*here\\*\n\n* first\n* second\n\n### Notes:\n\nSay hello.\n\n<!-- Slide number: 2 -->\n\nIn a shape',
    );
    expect([kind, metadata.slides]).toEqual(['odp', 2]);
  });
});
