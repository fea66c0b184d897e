/** The mail that a notification is about, whole: the notification has only its subject. */
import { useQuery } from '@tanstack/react-query';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Mail } from '../../../contracts/factory/work-engine/mail.ts';
import type { Notification } from '../../../contracts/notifications/routes.ts';
import { useFloors, useFloorsComplete } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SkeletonRows } from '../../ui/list-states.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { Problem } from '../../ui/problem.tsx';

export type OfMail = Notification & { readonly mailId: string };
export const isOfMail = (one: Notification): one is OfMail => one.mailId !== undefined;

export function MailDialog({ news, onClose }: { news: OfMail; onClose: () => void }) {
  const { connections } = useServices();
  const complete = useFloorsComplete();
  const places = useFloors().map(({ place }) => place);
  const scopes = places.flatMap(({ away, scope }) => (away ? [] : [scope]));
  const away = places.flatMap((place) => (place.away ? [place.name] : []));
  // A notification does not name its computer: each that is linked is asked.
  const mail = useQuery({
    queryKey: ['mail', news.mailId, ...scopes],
    enabled: complete,
    queryFn: async (): Promise<Mail | null> => {
      for (const scope of scopes) {
        try {
          // To open it is to read it, as with its notification.
          const read = await connections.on(scope).api.factory.markMailRead({ params: { id: news.mailId }, body: {} });
          if ('text' in read) return read;
        } catch (error) {
          if (!(error instanceof AppError && error.code === 'not_found')) throw error;
        }
      }
      return null;
    },
  });
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()} title={news.title} description={news.body}>
      {/* With the focus in it, the keys that scroll act on a text that is longer than the dialog. */}
      <div tabIndex={-1} data-first="true" className="scroll-mt-4 outline-none">
        {mail.error !== null ? (
          <Problem error={mail.error} />
        ) : mail.data === undefined ? (
          <SkeletonRows count={3} />
        ) : mail.data === null ? (
          <p className="text-muted">
            No computer that is linked now has this mail.
            {away.length > 0 &&
              ` Away: ${away.join(', ')}. If the mail is there, it appears when that computer is back.`}{' '}
            On the computer of its bot, <code>gantry orchestration mail</code> lists it.
          </p>
        ) : (
          <Markdown text={mail.data.text} />
        )}
      </div>
    </Dialog>
  );
}
