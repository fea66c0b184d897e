/** The places of the rail. A place comes here with the part that builds it; none is shown before. */
import {
  CircleQuestionMark,
  House,
  Inbox,
  Layers,
  LayoutGrid,
  ListChecks,
  type LucideIcon,
  MonitorPlay,
  Phone,
  ScrollText,
  Settings,
  Webhook,
  Wrench,
} from 'lucide-react';

export interface Place {
  readonly path:
    | '/'
    | '/floor'
    | '/work'
    | '/inbox'
    | '/tools'
    | '/connectors'
    | '/computers'
    | '/phone'
    | '/ledger'
    | '/queue'
    | '/settings'
    | '/docs';
  readonly name: string;
  readonly icon: LucideIcon;
  /** After `g`. */
  readonly letter: string;
  readonly foot: boolean;
  /** Reached through the commands where there is only a bar for five. */
  readonly wideOnly?: boolean;
}

export const places: readonly Place[] = [
  { path: '/', name: 'Home', icon: House, letter: 'h', foot: false },
  { path: '/floor', name: 'Floor', icon: LayoutGrid, letter: 'f', foot: false },
  { path: '/work', name: 'Work', icon: ListChecks, letter: 'w', foot: false },
  { path: '/inbox', name: 'Inbox', icon: Inbox, letter: 'i', foot: false },
  { path: '/tools', name: 'Tools', icon: Wrench, letter: 't', foot: false, wideOnly: true },
  { path: '/connectors', name: 'Connectors', icon: Webhook, letter: 'e', foot: false, wideOnly: true },
  { path: '/computers', name: 'Computers', icon: MonitorPlay, letter: 'c', foot: false, wideOnly: true },
  { path: '/phone', name: 'Phone', icon: Phone, letter: 'p', foot: false, wideOnly: true },
  { path: '/ledger', name: 'Ledger', icon: ScrollText, letter: 'l', foot: false, wideOnly: true },
  { path: '/queue', name: 'Queue', icon: Layers, letter: 'q', foot: false, wideOnly: true },
  { path: '/settings', name: 'Settings', icon: Settings, letter: 's', foot: true, wideOnly: true },
  { path: '/docs', name: 'Docs', icon: CircleQuestionMark, letter: 'd', foot: false, wideOnly: true },
];

/** `originView` of a window event → a path: a path itself, or a place's name. Unknown: null. */
export function pathOfView(view: string): string | null {
  if (view.startsWith('/') && !view.startsWith('//')) return view;
  return places.find((place) => place.name.toLowerCase() === view.toLowerCase())?.path ?? null;
}
