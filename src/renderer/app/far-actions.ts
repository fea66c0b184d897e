/**
 * Actions and buttons of pages that are not shown, by name, so that the palette reaches them from anywhere. Choosing one opens its page and runs it
 * as soon as the page has it.
 */
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Action, ActionStore } from '../base/actions.ts';
import { useServices } from '../base/services.tsx';
import { buttonsOf } from './page-buttons.ts';

interface Far {
  /** Of the action that the page adds; a button of the page has none. */
  readonly id: string;
  readonly title: string;
  readonly group: Action['group'];
  readonly href: string;
  readonly changes?: Action['changes'];
  /** Name of the button that does it, where no action does; null: the page itself is what is wanted. */
  readonly button?: string | null;
}

export const farActions: readonly Far[] = [
  { id: 'start-run', title: 'Start a run', group: 'Work', href: '/work' },
  { id: 'new-schedule', title: 'New schedule', group: 'Work', href: '/work?schedules=1' },
  { id: 'hand-in', title: 'Add task', group: 'Work', href: '/queue' },
  { id: 'verify', title: 'Verify the ledger', group: 'Work', href: '/ledger' },
  { id: 'demo', title: 'Add the demo team', group: 'Teams', href: '/floor' },
  { id: 'composer', title: 'Write a message to a bot', group: 'Bots', href: '/floor' },
  { id: 'adopt', title: 'Adopt a conversation', group: 'Bots', href: '/floor' },
  { id: 'attach-server', title: 'Attach a tool server', group: 'Tools', href: '/tools' },
  { id: 'connect-service', title: 'Connect a service', group: 'Connectors', href: '/connectors' },
  { id: 'start-computer-run', title: 'Run something on a computer', group: 'Computers', href: '/computers' },
  { id: 'create-hosted', title: 'Create a hosted computer', group: 'Computers', href: '/computers', button: null },
  { id: 'get-number', title: 'Get a phone number', group: 'Phone', href: '/phone' },
  { id: 'port-number', title: 'Bring a phone number from another carrier', group: 'Phone', href: '/phone' },
  { id: 'own-phone', title: 'My own phone', group: 'Phone', href: '/phone' },
  {
    id: 'mark-read',
    title: 'Mark the shown notifications as read',
    group: 'Inbox',
    changes: 'at once',
    href: '/inbox',
    button: 'Mark shown as read',
  },
  {
    id: 'model-key',
    title: 'Add a model key or server',
    group: 'Settings',
    href: '/settings/set-up',
    button: null,
  },
  { id: 'create-key', title: 'Create an API key', group: 'Settings', href: '/settings/keys', button: 'Create a key' },
  {
    id: 'sign-out',
    title: 'Sign out',
    group: 'Settings',
    changes: 'at once',
    href: '/settings/account',
    button: 'Sign out',
  },
  { id: 'pair', title: 'Pair with a home cloud', group: 'Settings', href: '/settings/computers', button: null },
  {
    id: 'push',
    title: 'Notifications in this browser',
    group: 'Settings',
    href: '/settings/notifications',
    button: null,
  },
  { id: 'budget', title: 'Set the budget', group: 'Settings', href: '/settings/usage', button: null },
];

/** How long a page may take to show what it can do, in ms; then the person is simply there. */
const pageWait = 5_000;

/** Without those that the shown page offers itself. */
export function useFarActions(shown: readonly Action[]): readonly Action[] {
  const navigate = useNavigate();
  const { actions } = useServices();
  return useMemo(() => {
    const here = new Set(shown.map(({ id }) => id));
    return farActions
      .filter(({ id }) => !here.has(id))
      .map(
        ({ id, title, group, changes, href, button }): Action => ({
          id,
          title,
          group,
          ...(changes === undefined ? {} : { changes }),
          run: () => {
            void navigate({ href });
            if (button === null) return;
            if (button === undefined) whenThere(actions, id);
            else whenShown(button);
          },
        }),
      );
  }, [shown, navigate, actions]);
}

function whenThere(actions: ActionStore, id: string): void {
  let stop = (): void => {};
  const look = (): void => {
    const action = actions.all().find((one) => one.id === id);
    if (action === undefined) return;
    stop();
    action.run();
  };
  const unsubscribe = actions.subscribe(look);
  const timer = setTimeout(() => stop(), pageWait);
  stop = () => {
    clearTimeout(timer);
    unsubscribe();
  };
  look();
}

function whenShown(name: string): void {
  const press = (): boolean => {
    const button = buttonsOf(document).find((one) => one.name === name);
    button?.press();
    return button !== undefined;
  };
  if (press()) return;
  const until = Date.now() + pageWait;
  const timer = setInterval(() => {
    if (press() || Date.now() > until) clearInterval(timer);
  }, 50);
}
