import { describe, expect, it } from 'vitest';
import { converted } from './documents.ts';

const head =
  '{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss Arial;}{\\f1\\fnil\\fcharset204 Arial CYR;}{\\f2\\fnil\\fcharset128 MS Gothic;}}' +
  '{\\colortbl;\\red255\\green0\\blue0;}{\\stylesheet{\\s0 Normal;}{\\s1 heading 1;}{\\s2\\b heading 2;}}{\\*\\generator Some 1.0;}' +
  '{\\info{\\title Plan}{\\author Ada}}';
const rtf = (body: string) => converted(`${head}${body}}`);

describe('a Rich Text document', () => {
  it('keeps headings, emphasis inside groups, breaks of paragraphs and its properties', async () => {
    const result = await rtf(
      '\\pard\\s1 First part\\par\\pard\\plain Some {\\b bold} and {\\i slanted {\\b both}} and \\strike gone\\strike0  end.\\par\n' +
        '\\pard\\s2 Next\\par\\pard E=mc{\\super 2}\\par',
    );
    expect(result.markdown).toBe(
      '# First part\n\nSome **bold** and *slanted* ***both*** and ~~gone~~ end.\n\n## Next\n\nE=mc<sup>2</sup>',
    );
    expect(result.metadata).toEqual({ title: 'Plan', author: 'Ada' });
    expect(result.notes).toEqual([]);
  });

  it('reads Unicode without its fallback, code pages by font, and typographic signs', async () => {
    const result = await rtf(
      "\\pard caf\\'e9 \\u8364? \\uc2\\u8364\\'80?\\uc1 \\u-10179?\\u-8704? {\\f1\\'cf\\'f0\\'e8} {\\f2\\'93\\'fa\\'83e} \\ldblquote q\\rdblquote\\emdash\\~x\\par",
    );
    expect(result.markdown).toBe('café € €😀 При 日テ “q”— x');
  });

  it('keeps tables, with pipes and lines in their cells', async () => {
    const result = await rtf(
      '\\pard Before\\par\\trowd\\cellx1000\\cellx2000\\pard\\intbl Name\\cell Count\\cell\\row' +
        '\\trowd\\cellx1000\\cellx2000\\pard\\intbl a|b\\cell one\\par two\\cell\\row\\pard After\\par',
    );
    expect(result.markdown).toBe('Before\n\n| Name | Count |\n| --- | --- |\n| a\\|b | one<br>two |\n\nAfter');
  });

  it('keeps lists with levels and numbers', async () => {
    const result = await rtf(
      "{\\listtext\\pard\\plain \\'b7\\tab}\\pard\\ls1\\ilvl0 apples\\par{\\listtext\\'b7\\tab}\\pard\\ls1\\ilvl1 green\\par" +
        '\\pard text\\par{\\listtext 1.\\tab}\\pard\\ls2 one\\par{\\listtext 2.\\tab}\\pard\\ls2 two\\par',
    );
    expect(result.markdown).toBe('* apples\n  * green\n\ntext\n\n1. one\n2. two');
  });

  it('keeps links, footnotes and comments, and drops addresses that run', async () => {
    const result = await rtf(
      '\\pard See {\\field{\\*\\fldinst{HYPERLINK "https://example.org/a"}}{\\fldrslt{\\ul the site}}} and ' +
        '{\\field{\\*\\fldinst{HYPERLINK "javascript:alert(1)"}}{\\fldrslt a trap}}, page {\\field{\\*\\fldinst PAGE}{\\fldrslt 3}}' +
        '{\\super\\chftn{\\footnote\\pard\\plain Its source}} end{\\*\\atnid B}{\\*\\atnauthor Bea}\\chatn{\\*\\annotation{\\*\\atnref 1}Sure?}.\\par',
    );
    expect(result.markdown).toBe(
      'See [the site](https://example.org/a) and a trap, page 3[^1] end[^comment-1].\n\n[^1]: Its source\n\n[^comment-1]: **Comment by Bea:** Sure?',
    );
  });

  it('leaves out pictures, hidden text, headers and what it does not know, and says what counts', async () => {
    const result = await rtf(
      '{\\header top}{\\pict\\pngblip 89504e470d0a1a0a}{\\*\\unheard of this}{\\object\\objemb{\\*\\objdata 0102}{\\result shown}}\\pard {\\v hidden}seen <b>*\\par' +
        '{\\shppict{\\pict\\bin4 }}{}x}}\\par',
    );
    expect(result.markdown).toContain('shownseen &lt;b>\\*');
    expect(result.markdown).not.toMatch(/8950|hidden|unheard|top|0102/);
    expect(result.notes).toEqual(['Pictures left out: 2.']);
  });

  it('says that a cut document may be cut, and refuses groups without end', async () => {
    const whole = `${head}\\pard Some words here\\par and more`;
    expect(await converted(whole)).toMatchObject({
      markdown: 'Some words here\n\nand more',
      notes: ['The document ends before it is closed: it may be cut.'],
    });
    await expect(converted(`{\\rtf1 ${'{'.repeat(100_000)}`)).rejects.toMatchObject({ code: 'damaged' });
  });
});
