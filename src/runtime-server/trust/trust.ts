/**
 * The person's agreement to files that decide what may run: one row a file with the hash of its content, kept in Gantry's own database, out of reach
 * of the folder. A file counts only while it has that content. Must not know what files mean.
 */

import { createHash } from 'node:crypto';
import { isAbsolute, join, relative, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';

/** One file, compared with its agreed content. */
interface Judged {
  /** The current content is not the agreed one: it has no effect. */
  readonly waits: boolean;
  /** The content that counts: the agreed one, or the one that ran here before Gantry asked. Null: none. */
  readonly counts: string | null;
}

/** The part that readers of single files need. */
export interface FileTrust {
  /** `path` is absolute; `text` null: no file lies there. */
  judge(path: string, text: string | null): Judged;
}

/** Where there is no person to ask: nothing was agreed to. */
export const nothingAgreed: FileTrust = { judge: (_, text) => ({ waits: text !== null, counts: null }) };

export interface By {
  readonly actor: string;
  readonly surface: string;
}

interface Trusted {
  readonly hash: string;
  /** Null where the content may hold secrets, and only its hash is kept. */
  readonly text: string | null;
}

export interface Trust extends FileTrust {
  readonly workspace: string;
  /** Whether content with this hash (`none`: no file) differs from the agreed one. */
  waits(path: string, hash: string): boolean;
  /** The last agreed content. */
  yesTo(path: string): Trusted | null;
  /** The person said no to exactly this content. */
  refused(path: string, hash: string): boolean;
  /** A person's yes, or text that they wrote through Gantry. A null text: they want the file gone. */
  sayYes(files: readonly { readonly path: string; readonly text: string | null }[], by: By): Promise<void>;
  sayNo(files: readonly { readonly path: string; readonly hash: string }[], by: By): Promise<void>;
  /** It ran here before Gantry asked: it keeps running, and a new start asks. */
  keepRunning(path: string, text: string): Promise<void>;
  /** Somebody answered. */
  onAnswer(listener: () => void): () => void;
  /** For messages and the API: relative to the workspace where it lies in it. */
  shown(path: string): string;
}

export interface TrustDeps extends Pick<Base, 'store' | 'ledger' | 'clock'> {
  readonly workspace: string;
}

interface Row {
  path: string;
  /** Null: the person wants it gone. */
  hash: string | null;
  content: string | null;
  ran: number;
  refused: string | null;
}

/** The hash of a missing file. */
export const goneHash = 'none';
export const hashOfText = (text: string | null): string =>
  text === null ? goneHash : createHash('sha256').update(text).digest('hex');

/** Files with these names hold secrets: their hash is enough. */
const secretNames = /(?:^|\/)\.env[^/]*$/;

export async function createTrust(deps: TrustDeps): Promise<Trust> {
  const { store, ledger, workspace } = deps;
  const rows = new Map(
    (await store.read((tx) => tx.all<Row>('SELECT path, hash, content, ran, refused FROM trust_file'))).map((row) => [
      row.path,
      row,
    ]),
  );
  const listeners = new Set<() => void>();

  const shown = (path: string): string => {
    const way = relative(workspace, path);
    const outside = way === '' || way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
    return (outside ? path : way).replaceAll(sep, '/');
  };

  /** A worktree of a bot is a copy of the workspace: agreement there holds here. */
  const sameInWorkspace = (path: string): string | null => {
    const found = /^\.gantry\/worktrees\/[^/]+\/[^/]+\/(.+)$/.exec(shown(path));
    return found === null ? null : join(workspace, found[1] as string);
  };

  function waits(path: string, hash: string): boolean {
    const row = rows.get(path);
    if (row !== undefined && row.ran === 0 && row.hash === hash) return false;
    const other = sameInWorkspace(path);
    const there = other === null ? undefined : rows.get(other);
    if (there?.ran === 0 && there.hash === hash) return false;
    // A file that was never agreed to is not missed.
    return hash !== goneHash || (row !== undefined && row.hash !== null);
  }

  function judge(path: string, text: string | null): Judged {
    const hash = hashOfText(text);
    if (!waits(path, hash)) return { waits: false, counts: text };
    const row = rows.get(path);
    return { waits: true, counts: row?.ran === 1 && row.hash === hash ? text : (row?.content ?? null) };
  }

  function put(tx: Tx, row: Row): void {
    tx.run(
      `INSERT INTO trust_file (path, hash, content, ran, refused, at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, content = excluded.content, ran = excluded.ran,
         refused = excluded.refused, at = excluded.at`,
      row.path,
      row.hash,
      row.content,
      row.ran,
      row.refused,
      deps.clock.now(),
    );
  }

  async function answer(given: readonly Row[], said: 'yes' | 'no', by: By): Promise<void> {
    if (given.length === 0) return;
    await store.write((tx) => {
      for (const row of given) put(tx, row);
      const files = given.map((row) => ({ path: shown(row.path), sha256: said === 'yes' ? row.hash : row.refused }));
      ledger.append(tx, { type: 'trust.answered', ...by, subject: 'workspace', body: { v: 1, answer: said, files } });
    });
    for (const row of given) rows.set(row.path, row);
    for (const listener of [...listeners]) listener();
  }

  return {
    workspace,
    judge,
    waits,
    shown,
    yesTo(path) {
      const row = rows.get(path);
      return row === undefined || row.hash === null || row.hash === goneHash
        ? null
        : { hash: row.hash, text: row.content };
    },
    refused: (path, hash) => rows.get(path)?.refused === hash,
    sayYes: (files, by) =>
      answer(
        files.map(({ path, text }) => ({
          path,
          hash: hashOfText(text),
          content: secretNames.test(path.replaceAll(sep, '/')) ? null : text,
          ran: 0,
          refused: null,
        })),
        'yes',
        by,
      ),
    sayNo: (files, by) =>
      answer(
        files.map(({ path, hash }) => ({
          path,
          hash: null,
          content: null,
          ran: 0,
          ...rows.get(path),
          refused: hash,
        })),
        'no',
        by,
      ),
    async keepRunning(path, text) {
      if (rows.has(path)) return;
      const row = { path, hash: hashOfText(text), content: text, ran: 1, refused: null };
      await store.write((tx) => put(tx, row));
      rows.set(path, row);
    },
    onAnswer(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The error of a caller that wants to use a waiting file. */
export function waitsForYes(files: readonly string[]): AppError {
  const named = files.slice(0, 10).join(', ');
  const more = files.length > 10 ? ` and ${files.length - 10} more` : '';
  const are = files.length === 1 ? 'says what may run, and waits' : 'say what may run, and wait';
  return new AppError(
    'needs_person',
    `${named}${more} ${are} for your yes: ${files.length === 1 ? 'it is' : 'they are'} new or changed since you last agreed.`,
    'Review what changed with `gantry trust`, or in the web interface.',
  );
}
