/**
 * The only way from the page into main: a channel of the table, a payload of its schema, from the main frame of one of
 * our windows that shows our origin. Everything else is refused and logged.
 */
import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import type { z } from 'zod';
import { type DesktopRequest, desktopRequests } from '../contracts/desktop/channels.ts';
import { mayNavigate } from './navigation.ts';

type IpcHandlers = {
  readonly [C in DesktopRequest]: (payload: z.infer<(typeof desktopRequests)[C]>, contentsId: number) => unknown;
};

interface IpcDeps {
  readonly ipc: Pick<IpcMain, 'handle'>;
  readonly origin: () => string | null;
  /** Whether the contents are those of a window of ours. */
  readonly isOurs: (contentsId: number) => boolean;
  readonly refused: (channel: string, why: string) => void;
}

export function answerPage({ ipc, origin, isOurs, refused }: IpcDeps, handlers: IpcHandlers): void {
  for (const channel of Object.keys(desktopRequests) as DesktopRequest[]) {
    ipc.handle(channel, async (event, payload: unknown, ...more: unknown[]) => {
      const why = strange(event, origin(), isOurs);
      const parsed = desktopRequests[channel].safeParse(payload);
      if (why === null && parsed.success && more.length === 0) {
        return (handlers[channel] as (payload: unknown, contentsId: number) => unknown)(parsed.data, event.sender.id);
      }
      refused(channel, why ?? 'its payload is of another shape');
      throw new Error(`${channel} was refused.`);
    });
  }
}

function strange(
  { sender, senderFrame }: IpcMainInvokeEvent,
  origin: string | null,
  isOurs: IpcDeps['isOurs'],
): string | null {
  if (!isOurs(sender.id)) return 'its sender is no window of ours';
  if (senderFrame === null || senderFrame.parent !== null) return 'its sender is no main frame';
  return origin !== null && mayNavigate(senderFrame.url, origin) ? null : 'its sender shows another origin';
}
