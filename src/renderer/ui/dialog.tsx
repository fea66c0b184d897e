/** A dialog in the middle of the window, or a sheet from below where it is narrow. Focus returns to where it came from. */
import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { underToasts } from './under-toasts.ts';
import { useReturnFocus } from './use-return-focus.ts';

export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  children,
  footer,
  onPrimary,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description: string;
  children: ReactNode;
  footer?: ReactNode;
  /** What Ctrl Enter does, from wherever the focus is in the dialog. */
  onPrimary?: () => void;
}) {
  const focus = useReturnFocus();
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-shade" />
        <Radix.Content
          {...focus}
          {...underToasts}
          onKeyDown={(event) => {
            if (onPrimary !== undefined && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              onPrimary();
            }
          }}
          className="appear fixed inset-x-0 bottom-(--keyboard) z-50 flex max-h-[calc(var(--seen)*0.85)] flex-col pb-[env(safe-area-inset-bottom)] rounded-t-panel border border-line bg-panel shadow-float outline-none sm:inset-x-auto sm:top-[12vh] sm:bottom-auto sm:left-1/2 sm:max-h-[calc(var(--seen)*0.76)] sm:w-[560px] sm:pb-0 sm:-translate-x-1/2 sm:rounded-panel"
        >
          <header className="flex items-start gap-2 border-b border-line px-4 py-3">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-title font-semibold">{title}</Radix.Title>
              <Radix.Description className="text-muted">{description}</Radix.Description>
            </div>
            <Radix.Close asChild>
              <IconButton label="Close" shortcut="Esc">
                <X aria-hidden="true" />
              </IconButton>
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
          {footer !== undefined && (
            <div className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-3">{footer}</div>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
