import { describe, expect, it } from 'vitest';
import { converted, coreProperties, relationships, spaces, xmlHead, zipOf } from './documents.ts';

const text = (content: string, properties = '') => `<a:p>${properties}<a:r><a:t>${content}</a:t></a:r></a:p>`;
const shape = (placeholder: string, paragraphs: string) =>
  `<p:sp><p:nvSpPr><p:cNvPr id="2" name="Shape"/><p:nvPr>${placeholder === '' ? '' : `<p:ph type="${placeholder}"/>`}</p:nvPr></p:nvSpPr><p:txBody>${paragraphs}</p:txBody></p:sp>`;
const slide = (shapes: string, attributes = '') =>
  `${xmlHead}<p:sld ${spaces} ${attributes}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`;

function pptx(slides: readonly string[], more: Record<string, string> = {}): Uint8Array {
  const order = slides.map((_, index) => index + 1);
  return zipOf({
    '_rels/.rels': relationships(['rId1', 'officeDocument', 'ppt/presentation.xml']),
    'ppt/presentation.xml': `${xmlHead}<p:presentation ${spaces}><p:sldIdLst>${order.map((n) => `<p:sldId id="${255 + n}" r:id="rId${n}"/>`).join('')}</p:sldIdLst></p:presentation>`,
    // The first slide shown lies in the file with the highest number.
    'ppt/_rels/presentation.xml.rels': relationships(
      ...order.map((n) => [`rId${n}`, 'slide', `slides/slide${slides.length - n + 1}.xml`] as const),
    ),
    ...Object.fromEntries(slides.map((content, index) => [`ppt/slides/slide${slides.length - index}.xml`, content])),
    'docProps/core.xml': coreProperties('Talk', 'Bea'),
    ...more,
  });
}

describe('a presentation', () => {
  it('gives slides in the order they are shown, titles first, lists by their levels', async () => {
    const result = await converted(
      pptx([
        slide(
          shape('body', text('one') + text('deeper', '<a:pPr lvl="1"/>') + text('two')) +
            shape('title', text('The start')) +
            shape('sldNum', text('7')),
        ),
        slide(
          shape('title', text('Steps')) +
            shape(
              '',
              text('first', '<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>') +
                text('second', '<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>'),
            ) +
            shape('', text('A plain line')),
          'show="0"',
        ),
      ]),
      { filename: 'talk.pptx' },
    );
    expect(result.markdown).toBe(
      '<!-- Slide number: 1 -->\n\n# The start\n\n* one\n  * deeper\n* two\n\n<!-- Slide number: 2 (hidden) -->\n\n# Steps\n\n' +
        '1. first\n2. second\n\nA plain line',
    );
    expect(result.metadata).toMatchObject({ title: 'Talk', author: 'Bea', slides: 2 });
    expect(result.notes.join(' ')).toContain('hidden in the presentation: 1');
  });

  it('keeps tables, links, emphasis, alternative texts, notes and comments', async () => {
    const cell = (content: string, properties = '') => `<a:tc ${properties}><a:txBody>${content}</a:txBody></a:tc>`;
    const table = `<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="4" name="T"/></p:nvGraphicFramePr><a:graphic><a:graphicData><a:tbl><a:tr>${cell(text('Head'), 'gridSpan="2"')}${cell(text('no'), 'hMerge="1"')}</a:tr><a:tr>${cell(text('a|b') + text('below'))}${cell(text('c'))}</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;
    const picture = `<p:pic><p:nvPicPr><p:cNvPr id="5" name="Picture 4" descr="A bridge at night"/></p:nvPicPr></p:pic>`;
    const linked =
      '<a:p><a:r><a:rPr><a:hlinkClick r:id="rId7"/></a:rPr><a:t>the source</a:t></a:r><a:r><a:rPr b="1"/><a:t> is gr</a:t></a:r><a:r><a:rPr b="1"/><a:t>eat</a:t></a:r></a:p>';
    const result = await converted(
      pptx([slide(`<p:grpSp>${picture}${table}</p:grpSp>${shape('', linked)}`)], {
        'ppt/slides/_rels/slide1.xml.rels': relationships(
          ['rId7', 'hyperlink', 'https://example.org/', true],
          ['rId8', 'notesSlide', '../notesSlides/notesSlide1.xml'],
          ['rId9', 'comments', '../comments/comment1.xml'],
        ),
        'ppt/notesSlides/notesSlide1.xml': `${xmlHead}<p:notes ${spaces}><p:cSld><p:spTree>${shape('sldImg', '')}${shape('body', text('Say it slowly'))}</p:spTree></p:cSld></p:notes>`,
        'ppt/comments/comment1.xml': `${xmlHead}<p:cmLst ${spaces}><p:cm authorId="0"><p:text>Too long?</p:text></p:cm></p:cmLst>`,
        'ppt/commentAuthors.xml': `${xmlHead}<p:cmAuthorLst ${spaces}><p:cmAuthor id="0" name="Cy"/></p:cmAuthorLst>`,
      }),
    );
    expect(result.markdown).toBe(
      '<!-- Slide number: 1 -->\n\n![A bridge at night](Picture4.jpg)\n\n| Head |  |\n| --- | --- |\n| a\\|b<br>below | c |\n\n' +
        '[the source](https://example.org/) **is great**\n\n### Notes:\n\nSay it slowly\n\n### Comments:\n\n* **Cy:** Too long?',
    );
  });

  it('gives the data of charts as tables', async () => {
    const points = (kind: string, values: readonly string[]) =>
      `<c:${kind}>${values.map((value, index) => `<c:pt idx="${index}"><c:v>${value}</c:v></c:pt>`).join('')}</c:${kind}>`;
    const series = (name: string, values: readonly string[]) =>
      `<c:ser><c:tx><c:strRef><c:f>Sheet1!$B$1</c:f>${points('strCache', [name])}</c:strRef></c:tx><c:cat><c:strRef><c:f>x</c:f>${points('strCache', ['2003', '2004'])}</c:strRef></c:cat><c:val><c:numRef><c:f>y</c:f>${points('numCache', values)}</c:numRef></c:val></c:ser>`;
    const frame = `<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="4" name="C" descr="Sales rise"/></p:nvGraphicFramePr><a:graphic><a:graphicData><c:chart r:id="rId2"/></a:graphicData></a:graphic></p:graphicFrame>`;
    const result = await converted(
      pptx([slide(frame)], {
        'ppt/slides/_rels/slide1.xml.rels': relationships(['rId2', 'chart', '../charts/chart1.xml']),
        'ppt/charts/chart1.xml': `${xmlHead}<c:chartSpace ${spaces}><c:chart><c:title><c:tx><c:rich>${text('Sales 4ffa')}</c:rich></c:tx></c:title><c:plotArea><c:barChart>${series('North', ['1.5', '2'])}${series('South', ['3', '4'])}</c:barChart></c:plotArea></c:chart></c:chartSpace>`,
      }),
    );
    expect(result.markdown).toBe(
      '<!-- Slide number: 1 -->\n\n*Sales rise*\n\n### Chart: Sales 4ffa\n\n| Category | North | South |\n| --- | --- | --- |\n| 2003 | 1.5 | 3 |\n| 2004 | 2 | 4 |',
    );
  });

  it('goes on without slides that are named and missing, and says so', async () => {
    const result = await converted(
      pptx([slide(shape('title', text('Here')))], {
        'ppt/_rels/presentation.xml.rels': relationships(['rId1', 'slide', 'slides/nowhere.xml']),
      }),
    );
    expect(result.notes).toEqual(['Slides named in the presentation but not in the file: 1.']);
  });
});
