/**
 * Reads what a person types at a raw terminal into the input of a pane: text, named keys where the pane's program decides how
 * they are encoded, and the key that lets go. Pure.
 */
import type { PaneInput } from '../../contracts/factory/agent.ts';

/** Ctrl-] */
const letGo = '\x1d';

const sequences: Readonly<Record<string, string>> = {
  '\x1b[A': 'Up',
  '\x1bOA': 'Up',
  '\x1b[B': 'Down',
  '\x1bOB': 'Down',
  '\x1b[C': 'Right',
  '\x1bOC': 'Right',
  '\x1b[D': 'Left',
  '\x1bOD': 'Left',
  '\x1b[H': 'Home',
  '\x1bOH': 'Home',
  '\x1b[1~': 'Home',
  '\x1b[F': 'End',
  '\x1bOF': 'End',
  '\x1b[4~': 'End',
  '\x1b[2~': 'Insert',
  '\x1b[3~': 'Delete',
  '\x1b[5~': 'PageUp',
  '\x1b[6~': 'PageDown',
};
const pattern = new RegExp(
  Object.keys(sequences)
    .map((sequence) => sequence.replace(/[[\]]/g, '\\$&'))
    .join('|'),
  'g',
);

interface Typed {
  /** In order; each is one request: text first, then keys. */
  readonly inputs: readonly PaneInput[];
  readonly letGo: boolean;
}

export function readTyped(text: string): Typed {
  const end = text.indexOf(letGo);
  const wanted = end < 0 ? text : text.slice(0, end);
  const inputs: { text?: string; keys?: string[] }[] = [];
  let from = 0;
  const addText = (part: string): void => {
    if (part !== '') inputs.push({ text: part });
  };
  for (const match of wanted.matchAll(pattern)) {
    addText(wanted.slice(from, match.index));
    from = match.index + match[0].length;
    const key = sequences[match[0]] ?? '';
    const last = inputs.at(-1);
    if (last === undefined) inputs.push({ keys: [key] });
    else last.keys = [...(last.keys ?? []), key];
  }
  addText(wanted.slice(from));
  return { inputs, letGo: end >= 0 };
}

/** Joins what waits into as few requests as keep the order: text may follow text, keys may follow anything. */
export function joinInputs(waiting: readonly PaneInput[]): PaneInput[] {
  const joined: { text?: string; keys?: string[] }[] = [];
  for (const input of waiting) {
    const last = joined.at(-1);
    if (last !== undefined && last.keys === undefined) {
      last.text = `${last.text ?? ''}${input.text ?? ''}` || undefined;
      if (input.keys !== undefined) last.keys = [...input.keys];
    } else if (last !== undefined && input.text === undefined)
      last.keys = [...(last.keys ?? []), ...(input.keys ?? [])];
    else joined.push({ text: input.text, keys: input.keys === undefined ? undefined : [...input.keys] });
  }
  return joined;
}
