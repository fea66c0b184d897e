/** Every action by name, with its shortcut (Ctrl K). */
import { Command } from 'cmdk';
import { Dialog as Radix } from 'radix-ui';
import { useRef } from 'react';
import { Kbd } from '../ui/kbd.tsx';
import { useReturnFocus } from '../ui/use-return-focus.ts';
import { type Action, useAllActions } from './actions.ts';

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
  'Go to',
  'View',
  'Help',
];

export function Palette({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const actions = useAllActions().filter((action) => action.hidden !== true);
  const focus = useReturnFocus();
  const chosen = useRef<Action | null>(null);
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-shade" />
        <Radix.Content
          aria-describedby={undefined}
          onOpenAutoFocus={focus.onOpenAutoFocus}
          onCloseAutoFocus={(event) => {
            focus.onCloseAutoFocus(event);
            // After the focus has gone back, so that the action may move it.
            chosen.current?.run();
          }}
          className="appear fixed inset-x-2 top-2 z-50 overflow-hidden rounded-panel border border-line bg-panel shadow-float outline-none sm:inset-x-auto sm:top-[14vh] sm:left-1/2 sm:w-[560px] sm:-translate-x-1/2"
        >
          <Radix.Title className="sr-only">Commands</Radix.Title>
          <Command label="Commands" loop>
            <Command.Input
              placeholder="Find a bot, a team or a command"
              className="h-11 w-full border-b border-line bg-transparent px-4 text-title outline-none"
            />
            <Command.List className="max-h-[56vh] overflow-y-auto p-1" label="Commands">
              <Command.Empty className="p-3 text-muted">Nothing has this name.</Command.Empty>
              {groups.map((group) => {
                const items = actions.filter((action) => action.group === group);
                if (items.length === 0) return null;
                return (
                  <Command.Group
                    key={group}
                    heading={group}
                    className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-meta [&_[cmdk-group-heading]]:text-faint"
                  >
                    {items.map((action) => (
                      <Command.Item
                        key={action.id}
                        value={`${action.title} ${action.id}`}
                        onSelect={() => {
                          chosen.current = action;
                          onOpenChange(false);
                        }}
                        className="flex h-8 items-center justify-between gap-3 rounded-control px-3 data-[selected=true]:bg-selected pointer-coarse:h-10"
                      >
                        <span className="truncate">{action.title}</span>
                        {action.keys !== undefined && <Kbd keys={action.keys} />}
                      </Command.Item>
                    ))}
                  </Command.Group>
                );
              })}
            </Command.List>
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
