/** Asks before something that cannot be taken back, and says what it ends; then does it, and shows why it could not. */
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';
import { useFocusWhen } from './use-focus-when.ts';

export function ConfirmDialog({
  title,
  description,
  label,
  act,
  onClose,
  children,
}: {
  title: string;
  description: string;
  /** Of the button: the verb. */
  label: string;
  act: () => Promise<unknown>;
  onClose: () => void;
  /** What it ends, in full. */
  children?: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const button = useFocusWhen(true);
  async function run(): Promise<void> {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    try {
      await act();
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description={description}
      onPrimary={() => void run()}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind="danger"
            ref={button}
            disabled={busy}
            aria-keyshortcuts="Control+Enter"
            onClick={() => void run()}
          >
            {label}
          </Button>
        </>
      }
    >
      {children}
      {failure !== null && <Problem error={failure} />}
    </Dialog>
  );
}
