/** The files of a bot's folder: the tree, and the one that is open. Reading only. */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowLeft, ChevronDown, ChevronRight, File, FileSymlink } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { Agent } from '../../../../contracts/factory/agent.ts';
import { useServices } from '../../../base/services.tsx';
import { useNarrow, useTouch } from '../../../base/use-narrow.ts';
import { IconButton } from '../../../ui/button.tsx';
import { CodeView } from '../../../ui/code/code-view.tsx';
import { describeProblem } from '../../../ui/describe-problem.ts';
import { Empty, ListStates, SkeletonRows } from '../../../ui/list-states.tsx';
import { visibleText } from '../../../ui/visible-text.ts';
import { foldersOf, type TreeRow, treeRows } from './file-tree.ts';
import { fileQuery, folderQuery } from './queries.ts';

export function BotFiles({
  agent,
  file,
  line,
  onFile,
}: {
  agent: Agent;
  /** Null: none is open. */
  file: string | null;
  line: number | null;
  onFile: (path: string | null) => void;
}) {
  const narrow = useNarrow();
  // Here, so that the way back to the tree finds it as it was.
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(file);
  // A file that was opened from elsewhere is shown in the tree.
  useEffect(() => {
    if (file === null) return;
    setOpen((old) => new Set([...old, ...foldersOf(file)]));
    setActive(file);
  }, [file]);
  const tree = (
    <Tree
      agent={agent}
      file={file}
      onFile={onFile}
      open={open}
      onToggle={(path, wanted) =>
        setOpen((old) => new Set(wanted ? [...old, path] : [...old].filter((one) => one !== path)))
      }
      active={active}
      onActive={setActive}
    />
  );
  const text = file !== null && (
    <OpenFile key={file} agent={agent} file={file} line={line} onBack={narrow ? () => onFile(null) : undefined} />
  );
  if (narrow) return text || tree;
  return (
    <div className="flex min-h-0 flex-1">
      <div className="flex w-52 shrink-0 flex-col border-r border-line">{tree}</div>
      {text || <Empty>Choose a file to read it.</Empty>}
    </div>
  );
}

function OpenFile({
  agent,
  file,
  line,
  onBack,
}: {
  agent: Agent;
  file: string;
  line: number | null;
  onBack: (() => void) | undefined;
}) {
  const services = useServices();
  const found = useQuery(fileQuery(services, agent.id, file));
  return (
    <section aria-label={visibleText(file)} className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line px-3 text-meta">
        {onBack !== undefined && (
          <IconButton label="Back to the files" onClick={onBack}>
            <ArrowLeft aria-hidden="true" />
          </IconButton>
        )}
        <span className="min-w-0 truncate font-mono" title={visibleText(file)}>
          {visibleText(file)}
        </span>
        {found.data !== undefined && (
          <span className="ml-auto shrink-0 text-muted tabular-nums">{sizeWords(found.data.size)}</span>
        )}
      </header>
      <ListStates
        source={found}
        skeleton={<SkeletonRows count={12} height={18} />}
        isEmpty={(data) => data.text === ''}
        empty={
          <Empty>
            {found.data?.binary === true ? 'This file is binary: it has no text to show.' : 'This file is empty.'}
          </Empty>
        }
        fill
      >
        {(data) => (
          <>
            <div className="min-h-0 flex-1">
              <CodeView text={data.text} path={data.path} line={line} />
            </div>
            {data.cut && (
              <p role="status" className="shrink-0 border-t border-line px-3 py-1 text-meta text-muted">
                Only the first {sizeWords(new TextEncoder().encode(data.text).length)} of {sizeWords(data.size)} are
                shown.
              </p>
            )}
          </>
        )}
      </ListStates>
    </section>
  );
}

function sizeWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const kilobytes = bytes / 1000;
  return kilobytes < 1000 ? `${kilobytes.toFixed(1)} kB` : `${(kilobytes / 1000).toFixed(1)} MB`;
}

function Tree({
  agent,
  file,
  onFile,
  open,
  onToggle,
  active,
  onActive,
}: {
  agent: Agent;
  file: string | null;
  onFile: (path: string) => void;
  /** Folders whose entries are shown. */
  open: ReadonlySet<string>;
  onToggle: (path: string, wanted: boolean) => void;
  /** Where the keyboard is. */
  active: string | null;
  onActive: (path: string) => void;
}) {
  const services = useServices();
  const box = useRef<HTMLDivElement>(null);
  const rowHeight = useTouch() ? 44 : 24;
  const id = useId();
  const folders = useMemo(() => ['', ...open], [open]);
  const answers = useQueries({ queries: folders.map((path) => folderQuery(services, agent.id, path)) });
  const rows = treeRows(open, (folder) => {
    const answer = answers[folders.indexOf(folder)];
    if (answer?.data !== undefined) return answer.data;
    return { why: answer?.error ? describeProblem(answer.error).fact : 'Reading…' };
  });
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  const at = rows.findIndex((row) => row.kind !== 'note' && row.path === active);

  function act(row: TreeRow): void {
    if (row.kind === 'note') return;
    onActive(row.path);
    if (row.kind === 'folder') onToggle(row.path, !row.open);
    else onFile(row.path);
  }
  function go(index: number, step: number): void {
    let next = Math.min(Math.max(index, 0), rows.length - 1);
    while (rows[next]?.kind === 'note') next += step;
    const row = rows[next];
    if (row === undefined || row.kind === 'note') return;
    onActive(row.path);
    virtual.scrollToIndex(next);
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    const parent = row === undefined || row.kind === 'note' ? undefined : foldersOf(row.path).at(-1);
    if (event.key === 'ArrowDown') go(at + 1, 1);
    else if (event.key === 'ArrowUp') go(at - 1, -1);
    else if (event.key === 'Home') go(0, 1);
    else if (event.key === 'End') go(rows.length - 1, -1);
    else if ((event.key === 'Enter' || event.key === ' ') && row !== undefined) act(row);
    else if (event.key === 'ArrowRight' && row?.kind === 'folder') row.open ? go(at + 1, 1) : onToggle(row.path, true);
    else if (event.key === 'ArrowLeft' && row?.kind === 'folder' && row.open) onToggle(row.path, false);
    else if (event.key === 'ArrowLeft' && parent !== undefined)
      go(
        rows.findIndex((one) => one.path === parent),
        -1,
      );
    else return;
    event.preventDefault();
  }

  return (
    <div
      ref={box}
      role="tree"
      aria-label={`Files of ${agent.name}`}
      aria-activedescendant={at === -1 ? undefined : `${id}-${at}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
      className="min-h-0 flex-1 overflow-y-auto py-1"
    >
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const place = {
            className: 'absolute inset-x-0 top-0 flex items-center gap-1 pr-2',
            style: {
              height: rowHeight,
              transform: `translateY(${item.start}px)`,
              paddingLeft: 8 + 12 * (row.level - 1),
            },
          };
          if (row.kind === 'note') {
            return (
              <div key={row.path} role="presentation" {...place}>
                <span className="truncate text-meta text-muted" title={row.text}>
                  {row.text}
                </span>
              </div>
            );
          }
          const Icon =
            row.kind === 'other' ? FileSymlink : row.kind === 'file' ? File : row.open ? ChevronDown : ChevronRight;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keyboard
            <div
              key={row.path}
              role="treeitem"
              id={`${id}-${item.index}`}
              tabIndex={-1}
              aria-level={row.level}
              aria-expanded={row.kind === 'folder' ? row.open : undefined}
              aria-selected={row.path === file}
              data-file={row.path}
              title={visibleText(row.name)}
              onClick={() => act(row)}
              {...place}
              className={`${place.className} cursor-pointer hover:bg-raised ${row.path === file ? 'bg-selected' : ''} ${item.index === at ? 'shadow-[inset_2px_0_var(--accent)]' : ''}`}
            >
              <Icon className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
              <span className="truncate">{visibleText(row.name)}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
