/** A part of the page that lies over it where there is no room beside: from below, or from the right on a wider window. */
import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { underToasts } from './under-toasts.ts';
import { useReturnFocus } from './use-return-focus.ts';

export function Sheet({
  open,
  onOpenChange,
  title,
  wide = false,
  children,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** For what is read: as wide as it may be, and nearly as high as the window. */
  wide?: boolean;
  children: ReactNode;
}) {
  const focus = useReturnFocus();
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-shade" />
        <Radix.Content
          {...focus}
          {...underToasts}
          aria-describedby={undefined}
          className={`appear fixed inset-x-0 bottom-(--keyboard) z-50 flex flex-col overflow-hidden pb-[env(safe-area-inset-bottom)] sm:pb-0 rounded-t-panel border border-line bg-panel shadow-float outline-none sm:inset-y-0 sm:right-0 sm:left-auto sm:h-auto sm:rounded-none ${wide ? 'h-[calc(var(--seen)*0.92)] sm:w-[min(44rem,90vw)]' : 'h-[calc(var(--seen)*0.7)] sm:w-80'}`}
        >
          <Radix.Title className="sr-only">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
