/** Every action by name, with its shortcut, then search results for the typed words (Ctrl K). */
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { Dialog as Radix } from 'radix-ui';
import { memo, type ReactNode, type UIEvent, useCallback, useMemo, useRef, useState } from 'react';
import type { Action } from '../base/actions.ts';
import { useAllActions } from '../base/services.tsx';
import { describeProblem } from '../ui/describe-problem.ts';
import { Kbd } from '../ui/kbd.tsx';
import { Ago } from '../ui/now.tsx';
import { useReturnFocus } from '../ui/use-return-focus.ts';
import { useBotActions } from './bot-actions.ts';
import { useFarActions } from './far-actions.ts';
import { buttonsOf } from './page-buttons.ts';
import { enterActsOn, firstRows, indexPalette, orderPalette, type PaletteGroup, pressMark } from './palette-order.ts';
import { type FoundRow, type FoundState, foundGroups, useFound } from './use-found.ts';

const groups: readonly Action['group'][] = [
  'Inbox',
  'Work',
  'Bots',
  'Teams',
  'Pane',
  'Tools',
  'Connectors',
  'Computers',
  'Phone',
  'Settings',
  'Go to',
  'View',
  'This page',
  'Help',
];

const item =
  'flex min-h-8 items-center justify-between gap-3 rounded-control px-3 data-[selected=true]:bg-selected pointer-coarse:min-h-10';
const heading =
  '[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-meta [&_[cmdk-group-heading]]:text-faint';

/** Stands first where no row may be acted on without having been chosen. */
const nothingChosen = 'nothing-chosen';

export function Palette({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const shown = useAllActions();
  const bots = useBotActions();
  const far = useFarActions(shown);
  // As the page was when the palette was asked for: behind it nothing can be pressed any more.
  const [buttons] = useState(() => buttonsOf(document));
  const index = useMemo(
    () => indexPalette(withButtons([...shown, ...far, ...bots], buttons), groups, foundGroups),
    [shown, bots, far, buttons],
  );
  const [typed, setTyped] = useState('');
  const found = useFound(typed);
  const { groups: reachable, more } = useMemo(() => orderPalette(typed, index, found.rows), [typed, index, found.rows]);
  const { room, onScroll } = useRoom(typed);
  const shownGroups = useMemo(() => firstRows(reachable, room), [reachable, room]);
  const top = shownGroups[0]?.items[0];
  const isNamed = top === undefined || enterActsOn(typed, top);
  const first = isNamed ? (top?.key ?? '') : nothingChosen;
  const [selected, setSelected] = useFirst(first);
  const focus = useReturnFocus();
  const chosen = useRef<(() => void) | null>(null);
  const choose = useCallback(
    (run: () => void): void => {
      chosen.current = run;
      onOpenChange(false);
    },
    [onOpenChange],
  );
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-shade" />
        <Radix.Content
          data-palette="true"
          aria-describedby={undefined}
          onOpenAutoFocus={focus.onOpenAutoFocus}
          onCloseAutoFocus={(event) => {
            focus.onCloseAutoFocus(event);
            // After the focus has gone back, so that the action may move it.
            chosen.current?.();
          }}
          className="appear fixed inset-x-2 top-2 z-50 overflow-hidden rounded-panel border border-line bg-panel shadow-float outline-none sm:inset-x-auto sm:top-[14vh] sm:left-1/2 sm:w-[560px] sm:-translate-x-1/2"
        >
          <Radix.Title className="sr-only">Commands and search</Radix.Title>
          <Command label="Commands and search" loop shouldFilter={false} value={selected} onValueChange={setSelected}>
            <Command.Input
              value={typed}
              onValueChange={setTyped}
              placeholder="Find bots, runs, messages and commands"
              className="h-11 w-full border-b border-line bg-transparent px-4 text-title outline-none"
            />
            <Command.List
              className="max-h-[calc(var(--seen)*0.56)] overflow-y-auto p-1"
              label="Commands and results"
              onScroll={onScroll}
            >
              {!found.looking && <Command.Empty className="p-3 text-muted">No matches.</Command.Empty>}
              {!isNamed && (
                // The list always chooses its first row: this one does nothing.
                <Command.Item value={nothingChosen} className="sr-only">
                  Nothing is selected. Use the arrow keys.
                </Command.Item>
              )}
              <Rows groups={shownGroups} choose={choose} />
            </Command.List>
            <About found={found} more={more} />
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** A key draws the palette several times, and these only once: the list marks the selected one itself. */
const Rows = memo(function Rows({
  groups: shown,
  choose,
}: {
  groups: readonly PaletteGroup[];
  choose: (run: () => void) => void;
}) {
  const navigate = useNavigate();
  return shown.map(({ name, items }) => (
    <Command.Group key={name} heading={name} className={heading}>
      {items.map((one) => (
        <Command.Item
          key={one.key}
          value={one.key}
          onSelect={() => choose(() => ('action' in one ? one.action.run() : void navigate({ href: one.row.href })))}
          className={'action' in one ? item : `${item} py-1`}
        >
          {'action' in one ? <ActionLine action={one.action} /> : <FoundLine row={one.row} />}
        </Command.Item>
      ))}
    </Command.Group>
  ));
});

/** Hidden actions only make sense from the keyboard; a button that an action names already stands here once. */
function withButtons(all: readonly Action[], buttons: ReturnType<typeof buttonsOf>): readonly Action[] {
  const actions = all.filter((action) => action.hidden !== true);
  const named = new Set(actions.map(({ title }) => title.toLowerCase()));
  return [
    ...actions,
    ...buttons
      .filter(({ name }) => !named.has(name.toLowerCase()))
      // Nobody knows here what a button of a page does.
      .map(
        ({ name, press }): Action => ({
          id: `${pressMark}${name}`,
          title: name,
          group: 'This page',
          changes: 'at once',
          run: press,
        }),
      ),
  ];
}

/** Of the height of the window that the list may take, and the lowest row: what its `max-h` and `min-h-8` say. */
const listHeight = 0.56;
const rowHeight = 32;

/** How many rows are drawn: those in sight and some below, then more as the list is scrolled, whether by hand or by an arrow key. */
function useRoom(typed: string) {
  const atFirst = Math.ceil((window.innerHeight * listHeight) / rowHeight) + 4;
  const [state, setState] = useState({ typed, room: atFirst });
  const room = state.typed === typed ? state.room : atFirst;
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: UIEvent<HTMLElement>): void => {
    if (scrollTop + 2 * clientHeight > scrollHeight) setState({ typed, room: room + 2 * atFirst });
  };
  return { room, onScroll };
}

/** What is found comes later: as long as the person has not chosen another line, the first one is selected. */
function useFirst(first: string): [string, (key: string) => void] {
  const [state, setState] = useState({ first, selected: first });
  if (state.first === first) return [state.selected, (selected) => setState({ first, selected })];
  const selected = state.selected === state.first ? first : state.selected;
  setState({ first, selected });
  return [selected, (key) => setState({ first, selected: key })];
}

function ActionLine({ action }: { action: Action }): ReactNode {
  return (
    <>
      <span className="min-w-0 flex-1">
        <span className="block truncate">{action.title}</span>
        {action.detail !== undefined && (
          <span className="line-clamp-4 block font-mono text-code break-words whitespace-pre-wrap text-muted">
            {action.detail}
          </span>
        )}
      </span>
      {action.keys !== undefined && <Kbd keys={action.keys} />}
    </>
  );
}

function FoundLine({ row }: { row: FoundRow }): ReactNode {
  return (
    <>
      <span className="min-w-0 flex-1">
        <span className="block truncate">{row.title}</span>
        {row.text !== '' && <span className="block truncate text-meta text-muted">{row.text}</span>}
      </span>
      {row.at !== null && (
        <span className="shrink-0 text-meta text-faint">
          <Ago at={row.at} />
        </span>
      )}
    </>
  );
}

/** What a person should know of the search beside what it found. */
function About({ found: { looking, failed, complete, rows }, more }: { found: FoundState; more: number }) {
  const lines = [
    ...(more > 0 ? [`${more} more. Type part of a name to find them.`] : []),
    ...(looking && rows.length === 0 ? ['Searching runs, messages and events …'] : []),
    ...failed.map(({ name, error }) => `${name} could not be searched: ${describeProblem(error).fact}`),
    ...(complete ? [] : ['Searched the newest 10,000 of each kind. Older ones are on their own pages.']),
  ];
  return (
    <div
      role="status"
      className={lines.length === 0 ? 'sr-only' : 'border-t border-line px-4 py-2 text-meta text-muted'}
    >
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {!looking && rows.length > 0 && <p className="sr-only">{rows.length} found</p>}
    </div>
  );
}
