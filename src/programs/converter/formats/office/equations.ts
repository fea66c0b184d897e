/**
 * Owns equations in Word's XML, which mammoth drops: each is read, and a word that occurs nowhere else stands in its place until
 * the HTML is there. Must not know how an equation becomes LaTeX (`omml.ts`).
 */
import { ConvertFault } from '../../format.ts';
import { formula } from '../../markdown/escape.ts';
import { parseXml } from '../xml-tree.ts';
import { ommlToLatex } from './omml.ts';

interface Equations {
  /** The part with words in place of its equations. Call for each part, then {@link mark} once. */
  take(part: string): string;
  /** HTML with an element `span[data-equation]` for each word; its value is the index for {@link markdown}. */
  mark(html: string): string;
  /** `$…$`, or `$$…$$` for a display equation. */
  markdown(index: number): string | undefined;
  /** How many could not be read. */
  unreadable(): number;
}

/** `parts`: all texts that equations may be in, so that the words do not occur in them. */
export function createEquations(parts: readonly string[]): Equations {
  let word = 'equation';
  while (parts.some((part) => part.includes(word))) word += 'x';
  const found: string[] = [];
  let broken = 0;

  function latex(slice: string, alone: boolean): string {
    try {
      return formula(ommlToLatex(parseXml(slice, 'an equation')), alone);
    } catch (cause) {
      if (!(cause instanceof ConvertFault)) throw cause;
      broken += 1;
      return '';
    }
  }

  return {
    take(part) {
      const word2006 = /xmlns:([\w.-]+)\s*=\s*["'][^"']*wordprocessingml\/(?:2006\/)?main["']/.exec(part)?.[1] ?? 'w';
      let made = '';
      let from = 0;
      const opening = /<([\w.-]+):(oMathPara|oMath)(?=[\s/>])[^>]*>/g;
      for (let match = opening.exec(part); match !== null; match = opening.exec(part)) {
        if (match[0].endsWith('/>')) continue;
        const closing = `</${match[1]}:${match[2]}>`;
        const end = part.indexOf(closing, opening.lastIndex);
        if (end === -1) break;
        const slice = part.slice(match.index, end + closing.length);
        const markdown = latex(slice, match[2] === 'oMathPara');
        made += part.slice(from, match.index);
        if (markdown !== '') {
          made += `<${word2006}:r><${word2006}:t>${word}${found.push(markdown) - 1}z</${word2006}:t></${word2006}:r>`;
        }
        from = end + closing.length;
        opening.lastIndex = from;
      }
      return made + part.slice(from);
    },
    mark: (html) => html.replace(new RegExp(`${word}(\\d+)z`, 'g'), '<span data-equation="$1">x</span>'),
    markdown: (index) => found[index],
    unreadable: () => broken,
  };
}
