/**
 * Documents whose time to convert would grow with the square of their size: each here took minutes, or would have. No time is measured:
 * what is not nearly linear runs into the limit of the test.
 */
import { describe, expect, it } from 'vitest';
import { codeBlock } from '../../../../src/programs/converter/markdown/escape.ts';
import { runsToMarkdown } from '../../../../src/programs/converter/markdown/runs.ts';
import { table } from '../../../../src/programs/converter/markdown/table.ts';
import { converted } from './documents.ts';

const many = 300_000;

describe('a long document', () => {
  it.each([
    ['spaces that do not break', `<p>a${'\u00a0'.repeat(many)}b</p>`],
    ['the same, as references', `<p>a${'&nbsp;'.repeat(many)}b</p>`],
    ['empty lines of code', `<pre>a${'\n'.repeat(many)}b</pre>`],
    ['breaks', `<div>a${'<br>'.repeat(20_000)}b</div>`],
    [
      'hidden elements in each other',
      `<div>a ${'<i aria-hidden="true">'.repeat(6000)}<img src="x" alt="b">${'</i>'.repeat(6000)}</div>`,
    ],
    ['buttons beside each other', `<div>a${'<button>x</button> words '.repeat(8000)}b</div>`],
  ])('is read in time with many %s', async (_, body) => {
    const { markdown } = await converted(`<html><body>${body}</body></html>`, { filename: 'a.html' });
    expect(markdown).toMatch(/a\s[\s\S]*b/);
  });

  it('is read in time where a mail of plain text has long gaps', async () => {
    const { markdown } = await converted(`From: a@b.c\r\nTo: d@e.f\r\nSubject: x\r\n\r\na${' \t'.repeat(many)}b\r\n`);
    expect(markdown).toContain('b');
  });

  it('is read in time where cells, runs and code have them', () => {
    const gap = ' '.repeat(many);
    expect(table([[`a${gap}b`], [`c${gap}\nd`]])).toBe(`| a${gap}b |\n| --- |\n| c<br>d |`);
    expect(runsToMarkdown([{ markdown: ` a${'<br>'.repeat(many)}b `, bold: true }])).toBe(
      ` **a${'<br>'.repeat(many)}b** `,
    );
    expect(codeBlock(`a${'\n'.repeat(many)}b\n\n`)).toBe(`\`\`\`\na${'\n'.repeat(many)}b\n\`\`\``);
  });
});
