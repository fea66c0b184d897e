/** XML in a fence, formatted for reading where that changes nothing. Entities are not expanded and nothing that it names is loaded. */
import type { Format } from '../../format.ts';
import { shown } from './json.ts';

/** Beyond, it stays as it was written. Characters. */
const maxPrettyLength = 512 * 1024;

export const xmlFormat: Format = {
  name: 'xml',
  family: 'data',
  kinds: ['xml'],
  async convert(_bytes, context) {
    const text = context.text().trim();
    const notes: string[] = [];
    const { XMLValidator } = await import('fast-xml-parser');
    const valid = text.length > maxPrettyLength * 8 ? true : XMLValidator.validate(text);
    if (valid !== true)
      notes.push(
        `It is not well-formed XML (${valid.err.msg}, line ${valid.err.line}): it may be cut. It is given as it is.`,
      );
    const root = /<(?![?!])([^\s/>]+)/.exec(text)?.[1];
    const pretty = valid === true && text.length <= maxPrettyLength ? setOut(text) : text;
    return { markdown: shown(pretty, 'xml', notes), metadata: root === undefined ? {} : { root }, notes };
  },
};

/** One line a tag and two spaces a level, where elements hold only elements; text among tags is left unchanged. */
function setOut(text: string): string {
  // Written in lines already: somebody has set it out.
  if (text.split('\n').length > text.length / 200 + 5) return text;
  const parts =
    text.match(/<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<!DOCTYPE[^[>]*(?:\[[\s\S]*?\]\s*)?>|<[^>]*>|[^<]+/g) ?? [];
  const lines: string[] = [];
  let depth = 0;
  let open = false;
  for (const part of parts) {
    if (part.trim() === '') continue;
    const isTag = part.startsWith('<') && !part.startsWith('<![CDATA[');
    const closes = part.startsWith('</');
    if (closes) depth = Math.max(0, depth - 1);
    // `<a>text</a>` stays on one line.
    if (!isTag || (closes && open)) lines.push(`${lines.pop() ?? ''}${part}`);
    else lines.push(`${'  '.repeat(Math.min(depth, 50))}${part}`);
    const opens = isTag && !closes && !part.endsWith('/>') && !/^<[!?]/.test(part);
    if (opens) depth += 1;
    open = isTag ? opens : open;
  }
  return lines.join('\n');
}
