import { describe, expect, it } from 'vitest';
import { readZip } from '../../../../src/programs/converter/zip-reader.ts';
import { converted, coreProperties, relationships, spaces, xmlHead, zipOf } from './documents.ts';

const run = (text: string, properties = '') =>
  `<w:r>${properties === '' ? '' : `<w:rPr>${properties}</w:rPr>`}<w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (content: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr>${content}</w:p>`;
const styled = (style: string, text: string) => paragraph(run(text), `<w:pStyle w:val="${style}"/>`);
const item = (level: number, list: number, text: string) =>
  paragraph(run(text), `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);

function docx(body: string, more: Record<string, string | Uint8Array> = {}): Uint8Array {
  return zipOf({
    '[Content_Types].xml': `${xmlHead}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/></Types>`,
    '_rels/.rels': relationships(['rId1', 'officeDocument', 'word/document.xml']),
    'word/document.xml': `${xmlHead}<w:document ${spaces}><w:body>${body}</w:body></w:document>`,
    'word/styles.xml': `${xmlHead}<w:styles ${spaces}>${[1, 2, 3].map((n) => `<w:style w:type="paragraph" w:styleId="Heading${n}"><w:name w:val="heading ${n}"/></w:style>`).join('')}<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style><w:style w:type="paragraph" w:styleId="Quote"><w:name w:val="Quote"/></w:style></w:styles>`,
    'word/numbering.xml': `${xmlHead}<w:numbering ${spaces}><w:abstractNum w:abstractNumId="0">${[0, 1].map((n) => `<w:lvl w:ilvl="${n}"><w:numFmt w:val="bullet"/></w:lvl>`).join('')}</w:abstractNum><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>`,
    'docProps/core.xml': coreProperties('The plan', 'Ada Writer'),
    ...more,
  });
}

const math = (content: string) => `<m:oMath>${content}</m:oMath>`;
const mathRun = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;

describe('a Word document', () => {
  it('keeps headings, emphasis, lists with their levels, quotes and its own properties', async () => {
    const result = await converted(
      docx(
        styled('Title', 'The plan') +
          styled('Heading1', 'First part') +
          paragraph(run('Some ') + run('bold', '<w:b/>') + run(' and ') + run('slanted', '<w:i/>') + run(' words.')) +
          item(0, 1, 'apples') +
          item(1, 1, 'green ones') +
          item(0, 1, 'pears') +
          styled('Heading2', 'Second part') +
          item(0, 2, 'one') +
          item(0, 2, 'two') +
          styled('Quote', 'Said long ago'),
      ),
      { filename: 'plan.docx' },
    );
    expect(result.markdown).toBe(
      '# The plan\n\n# First part\n\nSome **bold** and *slanted* words.\n\n* apples\n  * green ones\n* pears\n\n' +
        '## Second part\n\n1. one\n2. two\n\n> Said long ago',
    );
    expect(result.metadata).toMatchObject({ title: 'The plan', author: 'Ada Writer', created: '2024-05-06T07:08:09Z' });
    expect(result.notes).toEqual([]);
  });

  it('counts a list on over what stands between its items: a nested list, a paragraph, a table; and begins another one anew', async () => {
    const level = (n: number, format: string) =>
      `<w:lvl w:ilvl="${n}"><w:start w:val="1"/><w:numFmt w:val="${format}"/></w:lvl>`;
    const kind = (id: number, format: string) =>
      `<w:abstractNum w:abstractNumId="${id}">${level(0, format)}${level(1, format)}</w:abstractNum>`;
    const list = (id: number, of: number, more = '') =>
      `<w:num w:numId="${id}"><w:abstractNumId w:val="${of}"/>${more}</w:num>`;
    const anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>';
    const { markdown } = await converted(
      docx(
        item(0, 1, 'one') +
          item(1, 2, 'dot') +
          item(0, 1, 'two') +
          item(1, 1, 'two a') +
          item(1, 1, 'two b') +
          item(0, 1, 'three') +
          paragraph(run('In between.')) +
          item(0, 1, 'four') +
          item(1, 1, 'four a') +
          `<w:tbl><w:tr><w:tc>${paragraph(run('cell'))}</w:tc><w:tc>${paragraph(run('of a table'))}</w:tc></w:tr></w:tbl>` +
          styled('ListNumber', 'five') +
          styled('Heading1', 'Another') +
          item(0, 3, 'first again'),
        {
          'word/numbering.xml': `${xmlHead}<w:numbering ${spaces}>${kind(0, 'decimal')}${kind(1, 'bullet')}${list(1, 0)}${list(2, 1)}${list(3, 0, anew)}</w:numbering>`,
          'word/styles.xml': `${xmlHead}<w:styles ${spaces}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:type="paragraph" w:styleId="ListNumber"><w:name w:val="List Number"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>`,
        },
      ),
    );
    expect(markdown).toBe(
      '1. one\n   * dot\n2. two\n   1. two a\n   2. two b\n3. three\n\nIn between.\n\n4. four\n   1. four a\n\n' +
        '| cell | of a table |\n| --- | --- |\n\n5. five\n\n# Another\n\n1. first again',
    );
  });

  it('keeps links, and tables with merged cells, pipes and lines in them', async () => {
    const cell = (text: string, properties = '') =>
      `<w:tc><w:tcPr>${properties}</w:tcPr>${text
        .split('\n')
        .map((line) => paragraph(run(line)))
        .join('')}</w:tc>`;
    const result = await converted(
      docx(
        paragraph(`<w:hyperlink r:id="rId9">${run('the site')}</w:hyperlink>`) +
          paragraph(`<w:hyperlink r:id="rId8">${run('a trap')}</w:hyperlink>`) +
          `<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>${cell('Name')}${cell('Count')}</w:tr>` +
          `<w:tr>${cell('a|b')}${cell('1\n2')}</w:tr><w:tr>${cell('both', '<w:gridSpan w:val="2"/>')}</w:tr></w:tbl>`,
        {
          'word/_rels/document.xml.rels': relationships(
            ['rId9', 'hyperlink', 'https://example.org/a?b=c', true],
            ['rId8', 'hyperlink', 'javascript:alert(1)', true],
          ),
        },
      ),
    );
    expect(result.markdown).toBe(
      '[the site](https://example.org/a?b=c)\n\na trap\n\n| Name | Count |\n| --- | --- |\n| a\\|b | 1<br>2 |\n| both |  |',
    );
  });

  it('keeps footnotes, endnotes and comments with who made them where they are referred to', async () => {
    const result = await converted(
      docx(
        paragraph(
          run('A claim') +
            '<w:r><w:footnoteReference w:id="2"/></w:r>' +
            run(' and another') +
            '<w:r><w:endnoteReference w:id="3"/></w:r>',
        ) + paragraph(`${run('Disputed')}<w:r><w:commentReference w:id="0"/></w:r>`),
        {
          'word/_rels/document.xml.rels': relationships(
            ['rId1', 'footnotes', 'footnotes.xml'],
            ['rId2', 'endnotes', 'endnotes.xml'],
            ['rId3', 'comments', 'comments.xml'],
          ),
          'word/footnotes.xml': `${xmlHead}<w:footnotes ${spaces}><w:footnote w:id="2">${paragraph(run('Its source'))}</w:footnote></w:footnotes>`,
          'word/endnotes.xml': `${xmlHead}<w:endnotes ${spaces}><w:endnote w:id="3">${paragraph(run('See there: ') + math(mathRun('x+1')))}</w:endnote></w:endnotes>`,
          'word/comments.xml': `${xmlHead}<w:comments ${spaces}><w:comment w:id="0" w:author="Bea Checker" w:initials="BC">${paragraph(run('Is that so?'))}</w:comment></w:comments>`,
        },
      ),
    );
    expect(result.markdown).toBe(
      'A claim[^1] and another[^2]\n\nDisputed[^comment-1]\n\n[^1]: Its source\n\n[^2]: See there: $x+1$\n\n' +
        '[^comment-1]: **Comment by Bea Checker:** Is that so?',
    );
  });

  it('survives a comment that is referred to and missing', async () => {
    const result = await converted(docx(paragraph(`${run('Text')}<w:r><w:commentReference w:id="7"/></w:r>`)));
    expect(result.markdown).toBe('Text');
  });

  it('writes equations as LaTeX where they stand', async () => {
    const fraction = `<m:f><m:num>${mathRun('a')}</m:num><m:den>${mathRun('b')}</m:den></m:f>`;
    const power = `<m:sSup><m:e>${mathRun('x')}</m:e><m:sup>${mathRun('2')}</m:sup></m:sSup>`;
    const root = `<m:rad><m:deg/><m:e>${mathRun('π')}</m:e></m:rad>`;
    const sum = `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${mathRun('i=1')}</m:sub><m:sup>${mathRun('n')}</m:sup><m:e>${mathRun('i')}</m:e></m:nary>`;
    const matrix = `<m:d><m:e><m:m><m:mr><m:e>${mathRun('1')}</m:e><m:e>${mathRun('0')}</m:e></m:mr><m:mr><m:e>${mathRun('0')}</m:e><m:e>${mathRun('1')}</m:e></m:mr></m:m></m:e></m:d>`;
    const result = await converted(
      docx(
        paragraph(run('Here ') + math(fraction + mathRun('≤') + power) + run(' stands.')) +
          paragraph(`<m:oMathPara>${math(sum + mathRun('=') + root)}</m:oMathPara>`) +
          paragraph(math(matrix)) +
          paragraph(run('The word equation0z stays.')),
      ),
    );
    expect(result.markdown).toBe(
      'Here $\\frac{a}{b}\\leq x^{2}$ stands.\n\n$$\\sum_{i=1}^{n}{i}=\\sqrt{\\pi}$$\n\n' +
        '$\\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}$\n\nThe word equation0z stays.',
    );
  });

  it('names pictures by their alternative text, embeds none of them and follows none out of the file', async () => {
    const drawing = (id: string, attribute: string, text: string) =>
      `<w:r><w:drawing><wp:inline><wp:docPr id="1" name="x" descr="${text}"/><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:${attribute}="${id}"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>`;
    const result = await converted(
      docx(
        paragraph(drawing('rId5', 'embed', 'A small [map]')) +
          paragraph(run('then ') + drawing('rId6', 'link', 'outside')),
        {
          'word/_rels/document.xml.rels': relationships(
            ['rId5', 'image', 'media/image1.png'],
            ['rId6', 'image', 'file:///etc/hostname', true],
          ),
          'word/media/image1.png': new Uint8Array(2000).fill(7),
        },
      ),
    );
    expect(result.markdown).toContain('![A small \\[map\\]](data:image/png;base64...)');
    expect(result.markdown).not.toContain('BwcH');
    expect(result.markdown).toContain('then');
  });

  it('says what it leaves out: page headers, deleted text', async () => {
    const result = await converted(
      docx(paragraph(`${run('kept')}<w:del w:id="1"><w:r><w:delText>gone</w:delText></w:r></w:del>`), {
        'word/header1.xml': `${xmlHead}<w:hdr ${spaces}/>`,
      }),
    );
    expect(result.markdown).toBe('kept');
    expect(result.notes.join(' ')).toMatch(/headers and footers.*tracked changes/);
  });

  it('writes hostile text so that it stays text', async () => {
    const result = await converted(
      docx(paragraph(run('&lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1)) # no *star* &amp;lt;'))),
    );
    expect(result.markdown).toBe('&lt;script>alert(1)&lt;/script> \\[x\\](javascript:alert(1)) # no \\*star\\* \\&lt;');
  });

  it('reads a document that says the same ten thousand times, though it packs to a two-hundredth and less', async () => {
    const same = docx(paragraph(run('The same paragraph of a form, once more. ')).repeat(10_000));
    const packed = await readZip(same, { unpacked: () => {}, mustHaveTime: () => {} });
    const main = packed.entries.find((entry) => entry.name === 'word/document.xml');
    expect((main?.size ?? 0) / (main?.compressedSize ?? 1)).toBeGreaterThan(200);
    expect((await converted(same)).markdown.split('\n\n')).toHaveLength(10_000);
  });

  it('refuses cut and exploding files with what is wrong and what to do', async () => {
    const whole = docx(paragraph(run('x')));
    await expect(converted(whole.subarray(0, whole.length - 200), { filename: 'a.docx' })).rejects.toMatchObject({
      code: 'damaged',
      action: expect.stringMatching(/complete copy/),
    });
    const broken = docx('<w:p><w:r>');
    await expect(converted(broken)).rejects.toMatchObject({ code: 'damaged' });
    const bomb = docx(paragraph(run('a'.repeat(40_000_000))));
    await expect(converted(bomb)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('expands no entity of a document type', async () => {
    const entities = `<!DOCTYPE w:document [<!ENTITY a "${'lol'.repeat(100)}"><!ENTITY b "${'&a;'.repeat(100)}"><!ENTITY c "${'&b;'.repeat(100)}"><!ENTITY x SYSTEM "file:///etc/hostname">]>`;
    const bytes = zipOf({
      '_rels/.rels': relationships(['rId1', 'officeDocument', 'word/document.xml']),
      'word/document.xml': `${xmlHead}${entities}<w:document ${spaces}><w:body>${paragraph(run('at &c; &x; end'))}</w:body></w:document>`,
    });
    const result = await converted(bytes).catch((fault: unknown) => fault);
    expect(JSON.stringify(result).length).toBeLessThan(5000);
    expect(JSON.stringify(result)).not.toContain('lollol');
  });
});
