/** Beside the pane, where there is room to read: what the bot changed, and the files of its folder. Loaded when it is first opened. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { Tabs } from 'radix-ui';
import { useEffect, useRef } from 'react';
import type { Agent } from '../../../../contracts/factory/agent.ts';
import { IconButton } from '../../../ui/button.tsx';
import type { FloorLook } from '../search.ts';
import { BotChanges } from './bot-changes.tsx';
import { BotFiles } from './bot-files.tsx';

const tab =
  'h-[39px] border-b-2 border-transparent px-3 text-muted data-[state=active]:border-accent data-[state=active]:text-ink';

export function Beside({ agent, look }: { agent: Agent; look: FloorLook }) {
  const { file, line } = useSearch({ from: '/floor' });
  const navigate = useNavigate();
  const panel = useRef<HTMLDivElement>(null);
  const to = (next: FloorLook | undefined, path?: string): void =>
    void navigate({
      to: '/floor',
      search: (old) => ({ ...old, look: next, file: path, line: undefined }),
      replace: next === look,
    });
  // A person who types in a terminal continues there.
  useEffect(() => {
    if (document.activeElement?.closest('.xterm') != null) return;
    panel.current?.querySelector<HTMLElement>('[role="tab"][data-state="active"]')?.focus();
  }, []);
  return (
    <Tabs.Root
      ref={panel}
      value={look}
      onValueChange={(next) => to(next === 'files' ? 'files' : 'changes', file)}
      className="flex min-h-0 flex-1 flex-col bg-panel"
    >
      <div className="flex shrink-0 items-center border-b border-line pr-2">
        <Tabs.List aria-label={`Work of ${agent.name}`} className="flex flex-1">
          <Tabs.Trigger value="changes" className={tab}>
            Changes
          </Tabs.Trigger>
          <Tabs.Trigger value="files" className={tab}>
            Files
          </Tabs.Trigger>
        </Tabs.List>
        <IconButton label="Close" onClick={() => to(undefined)}>
          <X aria-hidden="true" />
        </IconButton>
      </div>
      <Tabs.Content value="changes" className="flex min-h-0 flex-1 flex-col">
        <BotChanges
          agent={agent}
          at={file === undefined ? null : { file, line: line ?? null }}
          onFile={(path) => to('files', path)}
        />
      </Tabs.Content>
      <Tabs.Content value="files" className="flex min-h-0 flex-1 flex-col">
        <BotFiles
          agent={agent}
          file={file ?? null}
          line={line ?? null}
          onFile={(path) => to('files', path ?? undefined)}
        />
      </Tabs.Content>
    </Tabs.Root>
  );
}
