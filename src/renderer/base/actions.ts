/**
 * All actions available right now, with their shortcuts: one list feeds the palette, the shortcut page and the keyboard. A view adds its actions
 * while it is shown. Must not know what an action does.
 */

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly group:
    | 'Inbox'
    | 'Work'
    | 'Go to'
    | 'Bots'
    | 'Teams'
    | 'Pane'
    | 'Tools'
    | 'Connectors'
    | 'Computers'
    | 'Phone'
    | 'This page'
    | 'Settings'
    | 'View'
    | 'Help';
  /** Name of the one thing that it opens: who types it means this action. */
  readonly thing?: string;
  /** What it acts on, whole: the palette shows it, so that nobody chooses what they have not read. */
  readonly detail?: string;
  /**
   * Whether it may change anything. By default it may, unless it only leads somewhere or changes only the view. `at once`: without a dialog that
   * first shows what it would do.
   */
  readonly changes?: boolean | 'at once';
  /** `g h`, `/`, `Ctrl K`, `Ctrl Shift L`; caps are shown as written. */
  readonly keys?: string;
  /** Not in the palette: it only makes sense from the keyboard. */
  readonly hidden?: boolean;
  run(): void;
}

const changesNothing: ReadonlySet<Action['group']> = new Set(['Go to', 'View', 'Help']);

export const mayChange = ({ changes, group }: Pick<Action, 'changes' | 'group'>): boolean =>
  (changes ?? !changesNothing.has(group)) !== false;

export interface ActionStore {
  add(actions: readonly Action[]): () => void;
  all(): readonly Action[];
  subscribe(listener: () => void): () => void;
}

export function createActionStore(): ActionStore {
  const listeners = new Set<() => void>();
  let groups: readonly (readonly Action[])[] = [];
  let all: readonly Action[] = [];
  function change(next: readonly (readonly Action[])[]): void {
    groups = next;
    all = groups.flat();
    for (const listener of listeners) listener();
  }
  return {
    add(actions) {
      change([...groups, actions]);
      return () => change(groups.filter((group) => group !== actions));
    },
    all: () => all,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
