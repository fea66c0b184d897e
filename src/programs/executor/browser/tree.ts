/**
 * The accessibility tree of a page, of all its frames and shadow roots, and how it is written for a reader. Pure but for what reads.
 * Must not know tabs.
 */
import type { Page } from 'playwright-core';
import { maxReadLength } from '../../../contracts/computer-use/members.ts';
import { fieldTexts } from './in-page-text.ts';

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

interface WriteOptions {
  readonly filter: 'all' | 'interactive';
  readonly depth: number;
  /** Texts of fields that the tree has folded, by their names in the snapshot. */
  readonly fields: ReadonlyMap<string, string>;
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
const maxValueLength = 500;
/** Each costs a call to the browser; one line says how many fields of the page are left out. */
const maxFields = 50;
/** Milliseconds; elements that went away in that time, or that got no time, are left out. */
const fieldMs = 1000;
const allFieldsMs = 2000;
const editable = 'input,textarea,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]';

export async function readTree(page: Page, timeoutMs: number): Promise<readonly (Branch | string)[]> {
  return (await page.ariaSnapshotJSON({ mode: 'ai', timeout: timeoutMs })) as unknown as (Branch | string)[];
}

/**
 * What stands in fields, whole and with its lines, where the tree would fold it, and what stands in editors, which the tree takes for
 * plain text or for nothing. By the names of the snapshot that {@link readTree} takes next.
 */
export async function readFields(page: Page): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const until = performance.now() + allFieldsMs;
  for (const frame of page.frames()) {
    const all = frame.locator(editable);
    const found = await all.evaluateAll(fieldTexts, maxValueLength).catch(() => []);
    for (const { at, text } of found.slice(0, maxFields - texts.size)) {
      if (performance.now() > until) return texts;
      const [own] = (await all
        .nth(at)
        .ariaSnapshotJSON({ mode: 'ai', timeout: fieldMs })
        .catch(() => [])) as unknown as (Branch | string)[];
      if (typeof own === 'object' && own.ref !== undefined) texts.set(own.ref, text);
    }
  }
  return texts;
}

/** The tree with what {@link readFields} found in the place of what it made of that: an editor's own text, nothing of a password. */
export function withTexts(
  branches: readonly (Branch | string)[],
  texts: ReadonlyMap<string, string>,
): readonly (Branch | string)[] {
  if (texts.size === 0) return branches;
  return branches.map((branch) => {
    if (typeof branch === 'string') return branch;
    const text = branch.ref === undefined ? undefined : texts.get(branch.ref);
    const children = branch.children && withTexts(branch.children, texts);
    return { ...branch, ...(children && { children }), ...(text !== undefined && { text }) };
  });
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

/** One line an element, children indented. Never longer than {@link maxReadLength} characters; says what it left out. */
export function writeTree(branches: readonly (Branch | string)[], options: WriteOptions): string {
  const lines: string[] = [];
  let length = 0;
  let full = false;
  let deeper = 0;
  const put = (line: string): void => {
    // Room for the last line, which says that this is not all.
    if (length + line.length + 1 > maxReadLength - 300) full = true;
    if (full) return;
    lines.push(line);
    length += line.length + 1;
  };
  /** Line by line, as it stands in the field: each behind a bar, so that no text looks like a line of the tree. */
  const writeText = (text: string, level: number): void => {
    const margin = `${'  '.repeat(level)}| `;
    for (const line of text.split(/\r\n|\r|\n/)) {
      const room = maxReadLength - 300 - length - margin.length - 1;
      // A single line may be longer than the whole limit.
      put(`${margin}${room > 0 && line.length > room ? line.slice(0, room) : line}`);
      if (line.length > room) full = true;
    }
  };
  const writeWithin = (branch: Branch | string, level: number): void => {
    if (typeof branch === 'string') return;
    if (isActing(branch)) write(branch, level);
    else for (const child of branch.children ?? []) writeWithin(child, level);
  };
  const write = (branch: Branch | string, level: number): void => {
    if (full) return;
    const all = options.filter === 'all';
    if (typeof branch === 'string') {
      if (all) put(`${'  '.repeat(level)}- text: ${short(branch)}`);
      return;
    }
    const text = branch.ref === undefined ? undefined : options.fields.get(branch.ref);
    const shown = all || isActing(branch) || text !== undefined;
    if (shown) {
      const { text: _, ...bare } = branch;
      put(`${'  '.repeat(level)}- ${lineOf(text === undefined ? branch : bare, options.refOf)}`);
      if (text !== undefined) writeText(text, level + 1);
    }
    const below = shown ? level + 1 : level;
    if (text !== undefined) {
      // Its words stand there already; what can be clicked in an editor has refs.
      for (const child of branch.children ?? []) writeWithin(child, below);
      return;
    }
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
  return line.length > maxValueLength ? `${line.slice(0, maxValueLength)}…` : line;
}
