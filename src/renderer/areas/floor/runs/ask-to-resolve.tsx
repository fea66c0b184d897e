/** Below a merge that conflicts: the message that has the bot resolve it, and the button that sends it. Nothing for any other refusal. */
import { useQueryClient } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { useRef } from 'react';
import { toast } from 'sonner';
import { AppError } from '../../../../contracts/common/errors.ts';
import { MergeConflicts } from '../../../../contracts/factory/worktree-routes.ts';
import { useServices } from '../../../base/services.tsx';
import { Button } from '../../../ui/button.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { useAct } from '../../../ui/use-act.ts';
import { visibleText } from '../../../ui/visible-text.ts';
import { resolveMessage } from './resolve-message.ts';

export function AskToResolve({
  error,
  bot,
  name,
  onSent,
}: {
  error: unknown;
  /** Address. */
  bot: string;
  name: string;
  onSent: () => void;
}) {
  const { api, keys, sentTexts } = useServices();
  const client = useQueryClient();
  // One key for one message: pressed again after a cut, it is the same one.
  const key = useRef(crypto.randomUUID());
  const conflicts = MergeConflicts.safeParse(error instanceof AppError ? error.options.extra?.conflicts : undefined);
  const text = conflicts.success ? resolveMessage(conflicts.data) : '';
  const send = useAct(async () => {
    const answer = await api.factory.sendMessage(
      { body: { to: bot, text, queue: true } },
      { idempotencyKey: key.current },
    );
    if (!('dryRun' in answer)) sentTexts.remember(answer.id, text);
    await client.invalidateQueries({ queryKey: keys.deliveries });
    toast(`Asked ${name} to resolve the conflicts`, { description: 'Merge again when it is done.' });
    onSent();
  });
  if (!conflicts.success) return null;
  return (
    <section aria-label="Message to the bot" className="flex flex-col gap-2">
      <p className="rounded-control border border-line px-2.5 py-1.5 break-words whitespace-pre-wrap text-muted">
        {visibleText(text)}
      </p>
      <Button icon={Send} className="self-start" disabled={send.busy} onClick={() => send.run()}>
        {send.busy ? 'Sending' : `Ask ${name} to resolve the conflicts`}
      </Button>
      {send.failure !== null && <Problem error={send.failure} />}
    </section>
  );
}
