/** Asks before something that cannot be taken back, and says what it ends; then does it. */
import type { ReactNode } from 'react';
import { ActDialog } from './act-dialog.tsx';
import { useAct } from './use-act.ts';

export function ConfirmDialog({
  act,
  ...asked
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
  const doing = useAct(async () => {
    await act();
    asked.onClose();
  });
  return <ActDialog {...asked} kind="danger" act={doing} focusAct />;
}
