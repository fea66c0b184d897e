/** Writes to a bot: text, target, whether it may wait; the plan before sending; the delivery after. */
import { useQueryClient } from '@tanstack/react-query';
import { Eye, Send } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import type { SendPlan } from '../../../contracts/factory/delivery.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { useServices } from '../../base/services.tsx';
import { useDraft } from '../../base/use-draft.ts';
import { Button } from '../../ui/button.tsx';
import { Check } from '../../ui/choice.tsx';
import { Kbd } from '../../ui/kbd.tsx';
import { Problem } from '../../ui/problem.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { imagesIn, keepImages } from './paste-images.ts';

type Plan = z.infer<typeof SendPlan>['plan'];
type Phase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending' }
  | { readonly kind: 'failed'; readonly error: unknown };

const viaWords: Readonly<Record<Plan['via'], string>> = {
  pane: 'typed into its pane now',
  pane_queue: 'added to its queue',
  hosted: 'sent to the hosted bot',
  vendor: 'left as a ticket for its vendor',
  channel: 'sent through its channel',
  peer: 'sent to its computer',
  acp: 'sent to the agent',
};

/** More bots are drawn as choices only while somebody chooses: each event would draw them again. */
const alwaysOffered = 50;

export function Composer({
  place,
  bots,
  target,
  onTarget,
  compact = false,
  kind = 'primary',
}: {
  /** Where it stands: what is typed is kept under this name. */
  place: string;
  bots: readonly PlacedBot[];
  /** Null while none is chosen. Stands on the computer that is looked at here. */
  target: PlacedBot | null;
  onTarget: (bot: PlacedBot) => void;
  compact?: boolean;
  /** Of the button that sends: another one may be the primary one in view. */
  kind?: 'primary' | 'plain';
}) {
  const { api, keys, sentTexts } = useServices();
  const client = useQueryClient();
  const [text, setText] = useDraft(place);
  const typed = useRef(text);
  typed.current = text;
  const [queue, setQueue] = useState(true);
  const [choosing, setChoosing] = useState(false);
  const offered = choosing || bots.length <= alwaysOffered ? bots : target === null ? [] : [target];
  const [phase, setPhase] = useState<Phase>({ kind: 'idle' });
  const [plan, setPlan] = useState<Plan | null>(null);
  /** Images on their way to the computer of the bot. */
  const [adding, setAdding] = useState<{ readonly done: number; readonly total: number } | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const pastes = useRef(0);
  const aim = useRef(target?.id);
  aim.current = target?.id;
  /** One key a message: a send repeated after a cut gives the first delivery, not a second message. */
  const attempt = useRef<{ key: string; of: string } | null>(null);
  const several = new Set(bots.map((bot) => bot.place.id)).size > 1;
  const ready = target !== null && text.trim() !== '' && phase.kind !== 'sending' && adding === null;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plan holds for the words and the bot it was made for
  useEffect(() => setPlan(null), [text, target?.id, queue]);

  function body(address: string) {
    // Checked: typed if the bot can take it, else queued. Unchecked: refused rather than queued.
    return { to: address, text, ...(queue ? {} : { queue: false }) };
  }

  async function preview(): Promise<void> {
    if (!ready || target === null) return;
    try {
      const answer = await api.factory.sendMessage({ body: { ...body(target.address), dryRun: true } });
      if ('dryRun' in answer) setPlan(answer.plan);
      setPhase({ kind: 'idle' });
    } catch (error) {
      setPhase({ kind: 'failed', error });
    }
  }

  async function send(): Promise<void> {
    if (!ready || target === null) return;
    const of = JSON.stringify([target.id, body(target.address)]);
    if (attempt.current?.of !== of) attempt.current = { key: crypto.randomUUID(), of };
    setPhase({ kind: 'sending' });
    try {
      const answer = await api.factory.sendMessage(
        { body: body(target.address) },
        { idempotencyKey: attempt.current.key },
      );
      if (!('dryRun' in answer)) sentTexts.remember(answer.id, text);
      attempt.current = null;
      setText('');
      setPhase({ kind: 'idle' });
      // The button is disabled now, so a press by keyboard has lost the focus. A person who went elsewhere meanwhile stays there.
      if (document.activeElement === document.body) field.current?.focus();
      void client.invalidateQueries({ queryKey: keys.deliveries });
    } catch (error) {
      setPhase({ kind: 'failed', error });
    }
  }

  /** The message names the files of the images, which the bot can open. */
  function putImages(event: { preventDefault(): void }, data: DataTransfer): void {
    const images = imagesIn(data);
    if (images.length === 0 || target === null) return;
    event.preventDefault();
    let told = 0;
    const add = (done: number, total: number) =>
      setAdding((all) => ({ done: (all?.done ?? 0) + done, total: (all?.total ?? 0) + total }));
    pastes.current += 1;
    add(0, images.length);
    keepImages(api.factory, target.id, images, (done) => {
      add(done - told, 0);
      told = done;
    })
      .then((paths) => {
        add(images.length - told, 0);
        if (aim.current !== target.id) throw elsewhere(target.address);
        const before = typed.current;
        setText(`${before}${before === '' || /\s$/.test(before) ? '' : ' '}${paths}`);
      })
      .catch((error: unknown) => setPhase({ kind: 'failed', error }))
      .finally(() => {
        pastes.current -= 1;
        if (pastes.current === 0) setAdding(null);
      });
  }

  return (
    <form
      aria-label="Message to a bot"
      className="flex shrink-0 flex-col gap-2 border-t border-line bg-panel p-2"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          void send();
        }
      }}
    >
      {phase.kind === 'failed' && <Problem error={phase.error} />}
      {plan !== null && (
        <p role="status" className="px-1 text-meta text-muted">
          Would be {viaWords[plan.via]} ({plan.to}). Records: {plan.records.join(', ') || 'none'}.
          {plan.ifQueued !== undefined && ` If queued: ${plan.ifQueued.join(', ')}.`}
        </p>
      )}
      {adding !== null && (
        <p role="status" className="flex items-center gap-2 px-1 text-meta text-muted">
          <ProgressBar {...adding} label="Images added" />
          <span className="tabular-nums">
            Adding images: {adding.done} of {adding.total} done
          </span>
        </p>
      )}
      <textarea
        ref={field}
        value={text}
        rows={compact ? 3 : 2}
        data-composer="true"
        aria-label={target === null ? 'Message' : `Message to ${target.address}`}
        placeholder={target === null ? 'Choose a bot to write to' : `Write to ${target.address}`}
        onChange={(event) => setText(event.target.value)}
        onPaste={(event) => putImages(event, event.clipboardData)}
        onDragOver={(event) => {
          if (event.dataTransfer.types.includes('Files')) event.preventDefault();
        }}
        onDrop={(event) => putImages(event, event.dataTransfer)}
        className="min-h-14 w-full resize-none rounded-control border border-line bg-window px-2.5 py-1.5"
      />
      <div className="flex flex-wrap items-center gap-2">
        <label className="inline-flex items-center gap-1.5 text-muted">
          <span className="max-sm:sr-only">To</span>
          <select
            value={target?.id ?? ''}
            onChange={(event) => {
              const bot = bots.find((one) => one.id === event.target.value);
              if (bot !== undefined) onTarget(bot);
            }}
            aria-label="Bot"
            onFocus={() => setChoosing(true)}
            onPointerDown={() => setChoosing(true)}
            onBlur={() => setChoosing(false)}
            className="h-7 max-w-44 max-sm:w-32 rounded-control border border-line bg-raised px-1.5 text-ink pointer-coarse:h-10"
          >
            {target === null && <option value="">Choose a bot</option>}
            {offered.map((bot) => (
              <option key={bot.id} value={bot.id}>
                {several ? `${bot.address} on ${bot.place.name}` : bot.address}
              </option>
            ))}
          </select>
        </label>
        <Check on={queue} onChange={setQueue} className="text-muted">
          Queue if busy
        </Check>
        <span className="ml-auto flex items-center gap-2">
          <Button kind="quiet" disabled={!ready} onClick={() => void preview()} title="What sending would do">
            <Eye className="size-3.5 sm:hidden" aria-hidden="true" />
            <span className="max-sm:sr-only">Preview</span>
          </Button>
          <Button icon={Send} kind={kind} type="submit" disabled={!ready} aria-keyshortcuts="Control+Enter">
            {phase.kind === 'sending' ? 'Sending' : 'Send'}
          </Button>
          <span className="max-md:hidden">
            <Kbd keys="Ctrl Enter" />
          </span>
        </span>
      </div>
    </form>
  );
}

/** The files of images lie on the computer of the bot that they were added for. */
function elsewhere(address: string): AppError {
  return new AppError(
    'refused',
    `The images were added for ${address}, and the message goes to another bot now.`,
    'Choose that bot again, or add the images again for this one.',
  );
}
