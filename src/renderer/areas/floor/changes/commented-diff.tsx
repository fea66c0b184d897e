/** A bot's diff with comments on its lines: written below the line, kept until they are sent, and sent to the bot as one message. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pencil, Send, Trash2 } from 'lucide-react';
import { type ReactNode, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { Agent } from '../../../../contracts/factory/agent.ts';
import type { Delivery } from '../../../../contracts/factory/delivery.ts';
import { useServices } from '../../../base/services.tsx';
import { Button, IconButton } from '../../../ui/button.tsx';
import { DeliveryRow } from '../../../ui/delivery-row.tsx';
import type { DiffRow } from '../../../ui/diff/diff-rows.ts';
import { DiffView } from '../../../ui/diff/diff-view.tsx';
import { Kbd } from '../../../ui/kbd.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { useAct } from '../../../ui/use-act.ts';
import { visibleText } from '../../../ui/visible-text.ts';
import {
  type Comment,
  type CommentStore,
  commentOn,
  countWords,
  createCommentStore,
  type Kept,
  linesWords,
  maxMessage,
  messageOf,
  placesOf,
} from './comments.ts';

interface Comments {
  readonly kept: Kept;
  readonly store: CommentStore;
}

export function useComments(botId: string): Comments {
  const store = useMemo(() => createCommentStore(window, botId), [botId]);
  return { kept: useSyncExternalStore(store.subscribe, store.get), store };
}

export function CommentedDiff({
  agent,
  rows,
  comments,
  goTo,
  onFile,
}: {
  agent: Agent;
  rows: readonly DiffRow[];
  comments: Comments;
  goTo: { readonly row: number } | null;
  onFile: ((path: string) => void) | undefined;
}) {
  const { kept, store } = comments;
  const box = useRef<HTMLDivElement>(null);
  const { places, drawn } = useDrawn(rows, comments, () => focusGrid());
  const changed = drawn.filter(({ comment }) => !places.has(comment.id));

  function focusGrid(): void {
    box.current?.querySelector<HTMLElement>('[role="grid"]')?.focus({ preventScroll: true });
  }

  const below = useMemo(() => {
    const found = new Map<number, ReactNode[]>();
    for (const { comment, node } of drawn) {
      const at = places.get(comment.id);
      if (at !== undefined) found.set(at, [...(found.get(at) ?? []), node]);
    }
    return found;
  }, [drawn, places]);

  return (
    <div ref={box} className="flex min-h-0 flex-1 flex-col gap-2">
      {changed.length > 0 && (
        <section aria-label="Comments on lines that have changed" className="max-h-48 shrink-0 overflow-y-auto">
          <p className="text-meta text-muted">These lines have changed since you commented on them.</p>
          {changed.map(({ node }) => node)}
        </section>
      )}
      <div className="min-h-40 flex-1">
        <DiffView
          rows={rows}
          label={`What ${agent.name} changed`}
          below={below}
          goTo={goTo}
          onFile={onFile}
          onChoose={(from, to) => {
            const draft = commentOn(rows, from, to, '', crypto.randomUUID());
            // What is being written elsewhere is not lost: it becomes a comment, as if it had been added.
            if (draft !== null) store.set({ ...withDraft(kept), draft });
          }}
        />
      </div>
      {kept.comments.length === 0 && kept.draft === null && <HowToComment />}
      <SendComments agent={agent} comments={comments} rows={rows} onSent={focusGrid} />
    </div>
  );
}

function HowToComment() {
  return (
    <p className="text-meta text-muted">
      Click beside a line to comment on it
      <span className="pointer-coarse:hidden">
        , or move to it with <Kbd keys="↑ ↓" /> and press <Kbd keys="c" />
      </span>
      .
    </p>
  );
}

/** The draft as one of the comments; an empty one is dropped. */
function withDraft(kept: Kept): Kept {
  const { draft } = kept;
  if (draft === null) return kept;
  if (draft.text.trim() === '') return { ...kept, draft: null };
  const at = kept.comments.findIndex((one) => one.id === draft.id);
  const comments = at === -1 ? [...kept.comments, draft] : kept.comments.with(at, draft);
  return { ...kept, comments, draft: null };
}

/** Each comment as it is shown, and where: the one that is being written with its field. */
function useDrawn(rows: readonly DiffRow[], { kept, store }: Comments, done: () => void) {
  const { comments, draft } = kept;
  const leave = useRef(done);
  leave.current = done;
  const all = useMemo(
    () => (draft === null || comments.some((one) => one.id === draft.id) ? comments : [...comments, draft]),
    [comments, draft],
  );
  const places = useMemo(() => placesOf(rows, all), [rows, all]);
  const drawn = useMemo(
    () =>
      all.map((comment) => ({
        comment,
        node:
          comment.id === draft?.id ? (
            <CommentEditor
              key={comment.id}
              comment={draft}
              onText={(text) => store.set({ ...store.get(), draft: { ...draft, text } })}
              onAdd={() => {
                store.set(withDraft(store.get()));
                leave.current();
              }}
              onCancel={() => {
                store.set({ ...store.get(), draft: null });
                leave.current();
              }}
            />
          ) : (
            <CommentCard
              key={comment.id}
              comment={comment}
              onEdit={() => store.set({ ...withDraft(store.get()), draft: comment })}
              onDelete={() => {
                const now = store.get();
                store.set({ ...now, comments: now.comments.filter((one) => one.id !== comment.id) });
                leave.current();
              }}
            />
          ),
      })),
    [all, draft, store],
  );
  return { places, drawn };
}

const where = (comment: Comment): string => `${visibleText(comment.path)}, ${linesWords(comment)}`;

function CommentCard({ comment, onEdit, onDelete }: { comment: Comment; onEdit: () => void; onDelete: () => void }) {
  return (
    <article
      aria-label={`Comment on ${where(comment)}`}
      data-comment={comment.id}
      className="m-1.5 flex items-start gap-1 rounded-control border border-line-strong bg-panel py-1 pr-1 pl-2.5"
    >
      <div className="min-w-0 flex-1">
        <p className="text-meta text-muted wrap-anywhere">{where(comment)}</p>
        <p className="wrap-anywhere whitespace-pre-wrap">{comment.text}</p>
      </div>
      <IconButton label={`Edit the comment on ${where(comment)}`} onClick={onEdit}>
        <Pencil aria-hidden="true" />
      </IconButton>
      <IconButton label={`Delete the comment on ${where(comment)}`} onClick={onDelete}>
        <Trash2 aria-hidden="true" />
      </IconButton>
    </article>
  );
}

function CommentEditor({
  comment,
  onText,
  onAdd,
  onCancel,
}: {
  comment: Comment;
  onText: (text: string) => void;
  onAdd: () => void;
  onCancel: () => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  return (
    <form
      aria-label={`Comment on ${where(comment)}`}
      className="m-1.5 flex flex-col gap-1.5 rounded-control border border-accent bg-panel p-2"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd();
      }}
      onKeyDown={(event) => {
        const adds = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
        if (!adds && event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        if (adds) onAdd();
        else onCancel();
      }}
    >
      <p className="text-meta text-muted wrap-anywhere">{where(comment)}</p>
      <textarea
        ref={field}
        value={comment.text}
        rows={3}
        maxLength={10_000}
        aria-label={`Comment on ${where(comment)}`}
        placeholder="What should change here?"
        onChange={(event) => onText(event.target.value)}
        className="w-full resize-y rounded-control border border-line bg-window px-2 py-1"
      />
      <div className="flex flex-wrap gap-1.5">
        <Button type="submit" disabled={comment.text.trim() === ''} aria-keyshortcuts="Control+Enter">
          Add comment
        </Button>
        <Button kind="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

/** The button that sends them all, and what became of those that were sent last. */
export function SendComments({
  agent,
  comments: { kept, store },
  rows,
  onSent,
}: {
  agent: Agent;
  comments: Comments;
  rows: readonly DiffRow[];
  /** Called when the button that sent them is gone, and the focus with it. */
  onSent?: () => void;
}) {
  const { api, keys, queries, sentTexts } = useServices();
  const client = useQueryClient();
  const [sent, setSent] = useState<{ readonly delivery: Delivery; readonly count: number } | null>(null);
  const deliveries = useQuery({ ...queries.deliveriesOf(agent.id), enabled: sent !== null }).data?.deliveries;
  const { comments } = kept;
  const text = useMemo(() => {
    const places = placesOf(rows, comments);
    const at = (one: Comment): number => places.get(one.id) ?? rows.length;
    return comments.length === 0 ? '' : messageOf(comments.toSorted((a, b) => at(a) - at(b)));
  }, [rows, comments]);
  const send = useAct(async () => {
    // One key for one message: sent again after a cut, or after a reload, it is the same one.
    const sending = kept.sending?.text === text ? kept.sending : { key: crypto.randomUUID(), text };
    store.set({ ...store.get(), sending });
    const answer = await api.factory.sendMessage(
      { body: { to: agent.address, text } },
      { idempotencyKey: sending.key },
    );
    if ('dryRun' in answer) return;
    sentTexts.remember(answer.id, text);
    const gone = new Set(comments.map((one) => one.id));
    const now = store.get();
    store.set({ ...now, comments: now.comments.filter((one) => !gone.has(one.id)), sending: null });
    setSent({ delivery: answer, count: gone.size });
    if (document.activeElement === document.body) onSent?.();
    await client.invalidateQueries({ queryKey: keys.deliveries });
  });
  const tooLong = text.length > maxMessage;
  const delivery = sent === null ? null : (deliveries?.find((one) => one.id === sent.delivery.id) ?? sent.delivery);
  return (
    <div className="flex shrink-0 flex-col gap-1.5">
      {send.failure !== null && <Problem error={send.failure} />}
      {comments.length > 0 && (
        <Button
          icon={Send}
          kind="primary"
          className="self-start"
          disabled={send.busy || tooLong || kept.draft !== null}
          onClick={() => send.run()}
        >
          {send.busy ? 'Sending' : `Send ${countWords(comments.length)}`}
        </Button>
      )}
      {tooLong && (
        <p role="status" className="text-meta text-muted">
          Together they have {text.length} characters; a message takes {maxMessage}. Delete or shorten some.
        </p>
      )}
      {delivery !== null && sent !== null && (
        <div role="status">
          <p className="text-meta text-muted">
            Sent {countWords(sent.count)} to {agent.name}.
          </p>
          <ul className="-mx-3" aria-label="Delivery of the comments">
            <DeliveryRow delivery={delivery} harness={agent.binding.harness} text={null} />
          </ul>
        </div>
      )}
    </div>
  );
}
