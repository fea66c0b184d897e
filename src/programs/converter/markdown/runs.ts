/** Owns runs of text with emphasis and links, as office formats have them, as one line of Markdown. Must not know any format. */
import { link } from './link.ts';

export interface Run {
  /** Escaped already. */
  readonly markdown: string;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly strike?: boolean;
  /** `sup` or `sub`. */
  readonly raised?: 'sup' | 'sub' | undefined;
  /** Address of a link; one that may not stand leaves its text. */
  readonly address?: string | undefined;
}

/** Neighbours of one look become one: words are often cut into several runs. Marks stand at words, never at white space. */
export function runsToMarkdown(runs: readonly Run[]): string {
  let made = '';
  for (let at = 0; at < runs.length; ) {
    const address = runs[at]?.address;
    const same: Run[] = [];
    for (; at < runs.length && runs[at]?.address === address; at += 1) same.push(runs[at] as Run);
    const text = emphasised(same);
    if (address === undefined) made += text;
    else made += around(text, (words) => link(words, address));
  }
  return made;
}

function emphasised(runs: readonly Run[]): string {
  let made = '';
  for (let at = 0; at < runs.length; ) {
    const first = runs[at] as Run;
    let text = '';
    for (; at < runs.length && marksOf(runs[at] as Run) === marksOf(first); at += 1) text += runs[at]?.markdown ?? '';
    const marks = marksOf(first);
    made += around(text, (words) => {
      const raised = first.raised === undefined ? words : `<${first.raised}>${words}</${first.raised}>`;
      const open = marks.replace(/[a-z]/g, '');
      return `${open}${raised}${[...open].reverse().join('')}`;
    });
  }
  return made;
}

function marksOf(run: Run): string {
  return `${run.strike === true ? '~~' : ''}${run.bold === true ? '**' : ''}${run.italic === true ? '*' : ''}${run.raised ?? ''}`;
}

function around(text: string, change: (words: string) => string): string {
  const before = /^(?:\s|<br>)*/.exec(text)?.[0] ?? '';
  const after = /(?<!\s|<br>)(?:\s|<br>)+$/.exec(text)?.[0] ?? '';
  const words = text.slice(before.length, text.length - after.length);
  return words === '' || before.length === text.length ? text : `${before}${change(words)}${after}`;
}
