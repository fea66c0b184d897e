/** A dialog with one act: the button that does it beside the one that leaves, and why it could not be done. */
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useRef } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';
import type { Act } from './use-act.ts';

export function ActDialog({
  title,
  description,
  label,
  busyLabel = label,
  kind = 'primary',
  act,
  ready = true,
  wants = null,
  focusAct = false,
  other,
  onClose,
  children,
}: {
  title: string;
  description: string;
  /** Of the button: the verb. */
  label: string;
  busyLabel?: string;
  kind?: 'primary' | 'danger';
  /** Closes the dialog itself when all is done. */
  act: Act;
  ready?: boolean;
  /** What is missing before it can be done, said beside the button; null: nothing, or it is plain to see. */
  wants?: string | null;
  /** Gives the button the focus as soon as it can be used, also after a failure; not where there are fields to fill. */
  focusAct?: boolean;
  /** The other answer, beside the one that leaves. */
  other?: ReactNode;
  onClose: () => void;
  children?: ReactNode;
}) {
  const { busy, failure } = act;
  const usable = ready && !busy;
  const button = useFocusWhen(focusAct && usable);
  const why = useId();
  const refusal = useRef<HTMLDivElement>(null);
  // It stands below what may be longer than the dialog.
  useEffect(() => {
    if (failure !== null) refusal.current?.scrollIntoView({ block: 'nearest' });
  }, [failure]);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description={description}
      onPrimary={() => usable && act.run()}
      footer={
        <>
          <p
            id={why}
            role="status"
            className="mr-auto min-w-0 flex-1 basis-40 text-meta text-muted empty:hidden max-sm:basis-full"
          >
            {ready ? null : wants}
          </p>
          {other}
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind={kind}
            ref={button}
            data-first={(focusAct && usable) || undefined}
            disabled={!usable}
            aria-describedby={ready || wants === null ? undefined : why}
            aria-keyshortcuts="Control+Enter"
            onClick={() => act.run()}
          >
            {busy ? busyLabel : label}
          </Button>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a key pressed in a field inside */}
      <div
        className="flex flex-col gap-3"
        onKeyDown={(event) => {
          if (kind !== 'danger' && usable && isEnterInField(event)) act.run();
        }}
      >
        {children}
        {failure !== null && (
          <div ref={refusal}>
            <Problem error={failure} />
          </div>
        )}
      </div>
    </Dialog>
  );
}

/** Enter in a field of one line does what the button does. A form inside, which may have checks of its own, hears it first. */
function isEnterInField({ key, target, nativeEvent }: KeyboardEvent): boolean {
  if (key !== 'Enter' || nativeEvent.isComposing || !(target instanceof HTMLInputElement)) return false;
  return target.form === null && ['text', 'search', 'number'].includes(target.type);
}

/** Focuses an element once, as soon as it can be used: a button that was disabled while its plan was read. */
function useFocusWhen(ready: boolean): RefObject<HTMLButtonElement | null> {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (ready) element.current?.focus();
  }, [ready]);
  return element;
}
