/** Plain text and Markdown: unchanged, in one encoding and with one kind of line end. */
import type { Format } from '../../format.ts';

export const textFormat: Format = {
  name: 'text',
  family: 'data',
  kinds: ['text', 'markdown'],
  async convert(_bytes, context) {
    const markdown = context.text().replace(/\r\n?/g, '\n');
    return {
      markdown,
      metadata: { lines: markdown === '' ? 0 : markdown.replace(/\n$/, '').split('\n').length },
      notes: [],
    };
  },
};
