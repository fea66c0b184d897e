/**
 * The accessibility tree of a page, of all its frames and open shadow roots, and how it is written for a reader. Pure but for `readTree`.
 * Must not know tabs.
 */
import type { Page } from 'playwright-core';
import { longestRead } from '../../contracts/computer-use/members.ts';

/** As the snapshot has it; what is missing is false or empty. */
export interface Branch {
  readonly role: string;
  readonly name?: string;
  /** Of the snapshot: `e12`, `f1e3` within a frame. */
  readonly ref?: string;
  readonly text?: string;
  readonly cursor?: string;
  readonly children?: readonly (Branch | string)[];
  readonly [property: string]: unknown;
}

export interface WriteOptions {
  readonly filter: 'all' | 'interactive';
  readonly depth: number;
  readonly refOf: (name: string) => string;
}

const acting = new Set([
  'button',
  'checkbox',
  'combobox',
  'link',
  'listbox',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'option',
  'radio',
  'searchbox',
  'slider',
  'spinbutton',
  'switch',
  'tab',
  'textbox',
  'treeitem',
]);
const said = new Set(['role', 'name', 'ref', 'text', 'cursor', 'children', 'box']);
/** Of a line; a paragraph that is longer is read with `get_page_text`. Characters. */
const longestValue = 500;

export async function readTree(page: Page, timeoutMs: number): Promise<readonly (Branch | string)[]> {
  return (await page.ariaSnapshotJSON({ mode: 'ai', timeout: timeoutMs })) as unknown as (Branch | string)[];
}

export function isActing({ role, cursor }: Branch): boolean {
  return acting.has(role) || cursor === 'pointer';
}

/** The branch with this name of the snapshot, or null. */
export function branchOf(branches: readonly (Branch | string)[], ref: string): Branch | null {
  for (const branch of branches) {
    if (typeof branch === 'string') continue;
    if (branch.ref === ref) return branch;
    const within = branchOf(branch.children ?? [], ref);
    if (within !== null) return within;
  }
  return null;
}

/** One line an element, children indented. Never longer than {@link longestRead} characters; says what it left out. */
export function writeTree(branches: readonly (Branch | string)[], options: WriteOptions): string {
  const lines: string[] = [];
  let length = 0;
  let full = false;
  let deeper = 0;
  const put = (line: string): void => {
    // Room for the last line, which says that this is not all.
    if (length + line.length + 1 > longestRead - 300) full = true;
    if (full) return;
    lines.push(line);
    length += line.length + 1;
  };
  const write = (branch: Branch | string, level: number): void => {
    if (full) return;
    const all = options.filter === 'all';
    if (typeof branch === 'string') {
      if (all) put(`${'  '.repeat(level)}- text: ${short(branch)}`);
      return;
    }
    const shown = all || isActing(branch);
    if (shown) put(`${'  '.repeat(level)}- ${lineOf(branch, options.refOf)}`);
    const below = shown ? level + 1 : level;
    if (below >= options.depth && (branch.children ?? []).length > 0) {
      deeper += 1;
      return;
    }
    for (const child of branch.children ?? []) write(child, below);
  };
  for (const branch of branches) write(branch, 0);
  if (deeper > 0) put(`(${deeper} elements have more below depth ${options.depth}; read one by its ref.)`);
  if (full) lines.push('(The page is longer than this. Read a part of it by its ref, or filter "interactive".)');
  return lines.length === 0 ? '(Nothing here can be read.)' : lines.join('\n');
}

/** `button "Send" [ref_3] disabled` */
export function lineOf(branch: Branch, refOf: (name: string) => string): string {
  const parts = [branch.role];
  if (branch.name !== undefined && branch.name !== '') parts.push(JSON.stringify(short(branch.name)));
  if (branch.ref !== undefined) parts.push(`[${refOf(branch.ref)}]`);
  for (const [property, value] of Object.entries(branch)) {
    if (said.has(property) || value === false || value === '' || typeof value === 'object') continue;
    parts.push(value === true ? property : `${property}=${short(String(value))}`);
  }
  const text = branch.text === undefined || branch.text === '' ? '' : `: ${short(branch.text)}`;
  return `${parts.join(' ')}${text}`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > longestValue ? `${line.slice(0, longestValue)}…` : line;
}
