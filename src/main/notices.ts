/** Notifications of the system: where a click leads, and the buttons of a question. Must not know what is new. */
import { AppError } from '../contracts/common/errors.ts';
import type { Feed } from './feed.ts';
import type { ElectronParts } from './parts.ts';
import type { Windows } from './windows.ts';

/** What a notification of the system can be answered with. */
interface Buttons {
  readonly actions: { type: 'button'; text: string }[];
  readonly pressed: (index: number) => void;
}

const decisions = [
  { decision: 'approve', text: 'Approve' },
  { decision: 'reject', text: 'Reject' },
] as const;

export function createNotices({
  parts,
  platform,
  lead,
  answer,
}: {
  readonly parts: Pick<ElectronParts, 'notify'>;
  readonly platform: string;
  readonly lead: Windows['lead'];
  /** Null while Gantry cannot be reached. */
  readonly answer: () => Feed['answer'] | null;
}) {
  const leadTo = (path: string) => () => lead({ kind: 'go', path });

  function notify(title: string, body: string, clicked: () => void, more: Buttons | null = null): void {
    const notification = parts.notify({ title, body, ...(more === null ? {} : { actions: more.actions }) });
    notification.on('click', clicked);
    if (more !== null) notification.on('action', ({ actionIndex }) => more.pressed(actionIndex));
    notification.show();
  }
  /** The buttons of a question where the system has them; elsewhere a click leads to its card. */
  function buttonsOf(answers: string | null, asked: string): Buttons | null {
    if (answers === null || (platform !== 'darwin' && platform !== 'win32')) return null;
    const inbox = leadTo('/inbox');
    return {
      actions: decisions.map(({ text }) => ({ type: 'button', text })),
      pressed(index) {
        const decision = decisions[index]?.decision;
        const send = answer();
        if (decision === undefined || send === null) return inbox();
        send(answers, decision).catch((error: unknown) => {
          const isOver = error instanceof AppError && error.options.status === 409;
          notify(isOver ? 'Already answered' : 'Not answered', error instanceof AppError ? error.fact : asked, inbox);
        });
      },
    };
  }

  return {
    notify,
    /** `answers`: the question that it tells of; null: none. */
    news({ title, body, url, answers }: { title: string; body: string; url: string; answers: string | null }): void {
      notify(title, body, leadTo(url), buttonsOf(answers, body));
    },
    update(version: string): void {
      const body = 'Install it under Settings → Desktop when nothing is running.';
      notify(`Gantry ${version} is ready`, body, leadTo('/settings/desktop'));
    },
  };
}
