/**
 * Questions to a person about calls, and their answers. One answer allows one action, once, and only while the screen still shows what it showed
 * when the question was asked. Must not know who is asked or how.
 */

import { createHmac, hash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { ToolsetApproval } from '../../contracts/computer-use/toolset.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';
import type { Tx } from '../../kit/store/store.ts';
import { json, nullable, type RowOf, table, text, time, word } from '../../kit/store/table.ts';
import type { Base } from '../base/base.ts';
import type { ApprovalState } from './gate.ts';
import type { Answer, Question, Questions } from './questions.ts';

const approvals = table('computer_use_approval', {
  id: text,
  holderId: text,
  actionHash: text,
  /** What the screen showed: page, element, size. */
  seen: text,
  state: word<ApprovalState>(),
  answeredBy: nullable(text),
  words: text,
  /** As the caller was shown it. */
  shown: json<ToolsetApproval>(),
  askedAt: time,
  endedAt: nullable(time),
});
const insert = approvals.insert(
  `ON CONFLICT (id) DO UPDATE SET state = 'pending', seen = excluded.seen, ended_at = NULL`,
);
type StoredRow = RowOf<typeof approvals>;
export interface ApprovalRow extends Omit<StoredRow, 'shown'> {
  readonly shown: ToolsetApproval;
}

export interface Ask extends Omit<Question, 'expiresInMs' | 'key'> {
  readonly holderId: string;
  readonly seen: string;
  readonly shown: Omit<ToolsetApproval, 'id' | 'action_hash' | 'approve_url'>;
}

type Ended = Exclude<ApprovalState, 'pending'>;
type Listener = (id: string, state: Ended, by: string | null) => void;

/** A person may be away for a while; a later request is a new question. */
const expiresInMs = 60 * 60_000;
/** Callers that wait for one of the newest questions may check without reading the database. */
const maxStates = 1000;
/** How long a yes stays valid while its caller does not return. Milliseconds. */
const usedWithinMs = 10 * 60_000;

export function createApprovals({
  store,
  questions,
  clock,
  secret,
  approveUrl,
  log,
}: Pick<Base, 'store' | 'clock'> & {
  readonly questions: Questions;
  readonly secret: string;
  readonly approveUrl: (id: string) => string;
  readonly log: { error(message: string, facts?: Record<string, unknown>): void };
}) {
  const listeners = new Set<Listener>();
  const states = new Map<string, ApprovalState>();
  const remember = (id: string, state: ApprovalState) => {
    states.set(id, state);
    if (states.size > maxStates) states.delete(states.keys().next().value!);
  };

  const toRow = (row: StoredRow | undefined): ApprovalRow | null =>
    row === undefined ? null : { ...row, shown: JSON.parse(row.shown) as ToolsetApproval };

  function move(tx: Tx, id: string, { state, by }: Answer): void {
    const sql = `UPDATE computer_use_approval SET state = ?, answered_by = ?, ended_at = ? WHERE id = ? AND state = 'pending'`;
    if (tx.run(sql, state, by, clock.now(), id).changes === 1) tx.afterCommit(() => tell(id, state, by));
  }

  function tell(id: string, state: Ended, by: string | null): void {
    remember(id, state);
    for (const listener of listeners) listener(id, state, by);
  }

  async function ask(question: Ask): Promise<ApprovalRow> {
    const { holderId, seen, shown, ...rest } = question;
    let id: string | null = null;
    let given: Answer | null = null;
    // Includes the screen: a question that outlived a restart showed it to a person, and its answer is valid only for that.
    const key = `executor:${holderId}:${question.actionHash}:${hash('sha256', seen, 'hex')}`;
    const asked = await questions.ask({ ...rest, key, expiresInMs }, (tx, answer) => {
      given = answer;
      if (id !== null) move(tx, id, answer);
    });
    const whole: ToolsetApproval = {
      ...shown,
      id: asked.id,
      action_hash: question.actionHash,
      approve_url: approveUrl(asked.id),
    };
    await store.write((tx) => {
      id = asked.id;
      const row: StoredRow = {
        id,
        holderId,
        actionHash: question.actionHash,
        seen,
        state: 'pending',
        answeredBy: null,
        words: question.words,
        shown: JSON.stringify(whole),
        askedAt: clock.now(),
        endedAt: null,
      };
      tx.run(insert.sql, ...insert.values(row));
      tx.afterCommit(() => remember(asked.id, 'pending'));
      if (given !== null) move(tx, asked.id, given);
    });
    void asked.answer.then(async (answer) => {
      // A person's answer has been taken in its own transaction already; what expired has none.
      await store
        .write((tx) => move(tx, asked.id, answer))
        .catch((fault: unknown) =>
          log.error('The end of an approval could not be saved.', { id: asked.id, fault: String(fault) }),
        );
    });
    return (await get(asked.id))!;
  }

  const get = (id: string): Promise<ApprovalRow | null> =>
    store.read((tx) =>
      toRow(tx.get<StoredRow>(`SELECT ${approvals.columns} FROM computer_use_approval WHERE id = ?`, id)),
    );

  return {
    /** Keyed with the secret: the hash of typed text reveals nothing. */
    hashOf: (action: Readonly<Record<string, unknown>>): string =>
      createHmac('sha256', secret).update(canonicalJson(action)).digest('hex'),
    ask,
    /**
     * The state of `grant` for this action of this holder. Null: none that could allow it; a new question is asked. A grant whose screen has changed
     * ends.
     */
    async judge(
      grant: string | undefined,
      action: { readonly holderId: string; readonly actionHash: string; readonly seen: string },
    ): Promise<ApprovalRow | null> {
      const found = grant === undefined ? await pendingOf(action.holderId, action.actionHash) : await get(grant);
      if (found === null || found.holderId !== action.holderId || found.actionHash !== action.actionHash) return null;
      if (found.state === 'denied') return found;
      if (found.state !== 'pending' && found.state !== 'approved') return null;
      const late = found.state === 'approved' && (found.endedAt ?? 0) <= clock.now() - usedWithinMs;
      if (found.seen === action.seen && !late) return found;
      await expire(found.id);
      return null;
    },
    /** In the transaction of the audit row: throws where somebody else was quicker. */
    use(tx: Tx, id: string): void {
      const sql = `UPDATE computer_use_approval SET state = 'used', ended_at = ?
        WHERE id = ? AND state = 'approved'`;
      if (tx.run(sql, clock.now(), id).changes === 1) {
        tx.afterCommit(() => remember(id, 'used'));
        return;
      }
      throw new AppError('refused', `The approval ${id} has already been used.`, 'Ask again.', { status: 409 });
    },
    state: (id: string): ApprovalState | null => states.get(id) ?? null,
    expire,
    onAnswer(listener: Listener): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Questions left by an earlier process: their callers ask again. */
    expireLeft: (): Promise<void> =>
      store.write((tx) => {
        tx.run(`UPDATE computer_use_approval SET state = 'expired', ended_at = ? WHERE state = 'pending'`, clock.now());
      }),
  };

  function pendingOf(holderId: string, actionHash: string): Promise<ApprovalRow | null> {
    const sql = `SELECT ${approvals.columns} FROM computer_use_approval WHERE holder_id = ? AND action_hash = ? AND state = 'pending'`;
    return store.read((tx) => toRow(tx.get<StoredRow>(sql, holderId, actionHash)));
  }

  async function expire(id: string): Promise<void> {
    await store.write((tx) => {
      const sql = `UPDATE computer_use_approval SET state = 'expired', ended_at = ? WHERE id = ? AND state IN ('pending', 'approved')`;
      if (tx.run(sql, clock.now(), id).changes === 1) tx.afterCommit(() => tell(id, 'expired', null));
    });
    await questions.withdraw(id);
  }
}

export type Approvals = ReturnType<typeof createApprovals>;
