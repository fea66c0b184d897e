/** The menu of the app and of its tray, as templates. Pure: what an entry does is passed in. */
import type { MenuItemConstructorOptions } from 'electron';
import type { Destination } from '../contracts/desktop/channels.ts';
import type { Counts } from './feed.ts';

export interface MenuActs {
  newWindow(): void;
  /** Shows a window; opens one if there is none. */
  show(): void;
  lead(to: Destination): void;
  openLogs(): void;
  quit(): void;
}

type Entry = MenuItemConstructorOptions;
const line: Entry = { type: 'separator' };

const pages: readonly (readonly [label: string, path: string, accelerator?: string])[] = [
  ['Home', '/'],
  ['Floor', '/floor'],
  ['Work', '/work'],
  ['Inbox', '/inbox'],
  ['Settings', '/settings/general', 'CommandOrControl+,'],
];

export function appMenu(acts: MenuActs, place: { platform: string; packaged: boolean }): Entry[] {
  const mac = place.platform === 'darwin';
  const go = pages.map(
    ([label, path, accelerator]): Entry => ({ label, accelerator, click: () => acts.lead({ kind: 'go', path }) }),
  );
  return [
    ...(mac ? [{ role: 'appMenu' } as Entry] : []),
    {
      label: 'File',
      submenu: [
        { label: 'New Window', accelerator: 'CommandOrControl+Shift+N', click: () => acts.newWindow() },
        { role: 'close' },
        ...(mac ? [] : [line, { label: 'Quit', accelerator: 'CommandOrControl+Q', click: () => acts.quit() }]),
      ],
    },
    { role: 'editMenu' },
    { label: 'Go', submenu: go },
    {
      label: 'View',
      submenu: [
        { role: 'reload' },
        // Developers need the page's console; a person's app has none, so nobody can ask them to type into it.
        ...(place.packaged ? [] : [{ role: 'toggleDevTools' } as Entry]),
        line,
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        line,
        { role: 'togglefullscreen' },
      ],
    },
    { role: 'windowMenu' },
    { role: 'help', submenu: [{ label: 'Open Logs', click: () => acts.openLogs() }] },
  ];
}

export function trayMenu(counts: Counts | null, acts: MenuActs): Entry[] {
  const facts = factsOf(counts);
  return [
    ...facts.map((label): Entry => ({ label, enabled: false })),
    line,
    ...(counts !== null && counts.needs > 0
      ? [{ label: 'Open Inbox', click: () => acts.lead({ kind: 'go', path: '/inbox' }) } as Entry]
      : []),
    { label: 'Open Gantry', click: () => acts.show() },
    { label: 'New Window', click: () => acts.newWindow() },
    line,
    { label: 'Quit Gantry', click: () => acts.quit() },
  ];
}

/** One line, as the tray says it under the pointer. */
export function trayWords(counts: Counts | null): string {
  return `Gantry: ${factsOf(counts).join(', ')}`;
}

function factsOf(counts: Counts | null): string[] {
  if (counts === null) return ['does not answer'];
  const { panes, runs, needs } = counts;
  return [
    `${panes} ${panes === 1 ? 'pane' : 'panes'} live`,
    `${runs} ${runs === 1 ? 'run' : 'runs'}`,
    ...(needs === 0 ? [] : [`${needs} ${needs === 1 ? 'needs' : 'need'} you`]),
  ];
}
