/**
 * The live terminal of one pane: draws screen events at the pane's own size, types in order, and sets the size while this
 * window is the one that works in it. Must not know the dock.
 */
import { SearchAddon } from '@xterm/addon-search';
import { useEffect, useMemo, useRef } from 'react';
import { useServices, useSettings } from '../../base/services.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { type OpenTerminal, openTerminal } from '../../ui/terminal/create-terminal.ts';
import { createTerminalMarks } from '../../ui/terminal/terminal-marks.ts';
import { createPathLinks, type FoundPath, pathsInSight } from './changes/path-links.ts';
import { useOpenPath } from './changes/use-open-path.ts';
import type { Said } from './marks.ts';
import { type PaneOwner, panePortOf } from './pane-port.ts';
import { createPaneSize, type ScreenSize } from './pane-size.ts';
import { createPaneTyping } from './pane-typing.ts';
import { createPaneView } from './pane-view.ts';
import { keepImages } from './paste-images.ts';
import { type PaneLink, watchScreen } from './screens.ts';

/** Lines of the first turn of the wheel, before there is anything to scroll. */
const wheelLines = 3;

/** What the buttons and keys around a live terminal do to it. */
export interface PaneHandle {
  readonly search: SearchAddon;
  /** Reads what is above the screen and keeps it until `toEnd`. */
  lookBack(): Promise<void>;
  /** To the message before this place, or the one after it. */
  jump(by: -1 | 1): void;
  /** Back to the live screen. */
  toEnd(): void;
  focus(): void;
  press(key: string): void;
  /** The files that the terminal names now. */
  paths(): Promise<readonly FoundPath[]>;
  openPath(found: FoundPath): void;
}

interface PaneTerminalProps {
  readonly bot: PaneOwner;
  readonly label: string;
  /** The pane a person works in: its stream comes first. */
  readonly active: boolean;
  /** Changes when the terminal should take the focus; 0 never does. */
  readonly focusRequest: number;
  /** Changes when the pane should be watched again after it could not be read. */
  readonly watchRequest: number;
  readonly onLink: (link: PaneLink) => void;
  readonly onSize: (size: ScreenSize) => void;
  readonly onFocus: () => void;
  readonly onInputError: (error: unknown) => void;
  /** What was delivered to it, newest first. */
  readonly said: readonly Said[];
  readonly onFind: () => void;
  /** Whether the view is above the live screen. */
  readonly onScrolled: (up: boolean) => void;
  /** The terminal as it opens; null when it closes. */
  readonly onHandle: (handle: PaneHandle | null) => void;
  readonly onReadError: (error: unknown) => void;
}

export function PaneTerminal(props: PaneTerminalProps) {
  const { api, slots } = useServices();
  const { terminalFontSize, terminalPalette, terminalRenderer, screenReader } = useSettings();
  const scheme = useScheme();
  const box = useRef<HTMLDivElement>(null);
  const open = useRef<OpenTerminal>(null);
  const watch = useRef<ReturnType<typeof watchScreen>>(null);
  const marks = useRef<ReturnType<typeof createTerminalMarks>>(null);
  const handlers = useRef(props);
  handlers.current = props;
  const look = {
    scheme,
    fontSize: terminalFontSize,
    palette: terminalPalette,
    renderer: terminalRenderer,
    screenReader,
  };
  const firstLook = useRef(look);
  firstLook.current = look;
  const { label, active, focusRequest, watchRequest } = props;
  const openPath = useOpenPath(props.bot.id);
  const paths = useRef(openPath);
  paths.current = openPath;
  const { id, address, machine, runner } = props.bot;
  const pane = useMemo(() => panePortOf(api, { id, address, machine, runner }), [api, id, address, machine, runner]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new renderer needs a new terminal; colours and sizes do not
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const opened = openTerminal(element, firstLook.current);
    open.current = opened;
    const { terminal } = opened;

    terminal.registerLinkProvider(
      createPathLinks(terminal, {
        find: (path) => paths.current.find(path),
        open: (path, line) => void paths.current.open(path, line),
      }),
    );

    const size = createPaneSize({ element, opened, pane, onSize: (now) => handlers.current.onSize(now) });
    const drawn = createTerminalMarks(terminal);
    marks.current = drawn;
    const view = createPaneView({
      terminal,
      pane,
      said: () => handlers.current.said,
      drawMarks: (wanted) => drawn.draw(wanted),
      onError: (error) => handlers.current.onReadError(error),
    });
    const search = new SearchAddon();
    terminal.loadAddon(search);
    let up = false;
    const onScroll = terminal.onScroll(() => {
      const { viewportY, baseY } = terminal.buffer.active;
      if (up === viewportY < baseY) return;
      up = !up;
      handlers.current.onScrolled(up);
    });
    const watching = watchScreen(pane, slots, {
      onScreen(screen) {
        size.came(screen);
        view.show(screen);
      },
      onLink: (link) => handlers.current.onLink(link),
    });
    watching.setUrgent(handlers.current.active);
    watch.current = watching;

    const typing = createPaneTyping({
      element,
      terminal,
      pane,
      keepImages() {
        const { bot } = handlers.current;
        return bot.runner === 'local' ? (images) => keepImages(api.factory, bot.id, images) : null;
      },
      /** Who types looks at what they type. */
      onType() {
        view.toEnd();
        size.takeOver();
      },
      onImages: size.takeOver,
      onFind: () => handlers.current.onFind(),
      onError: (error) => handlers.current.onInputError(error),
    });
    const onWheel = (event: WheelEvent): void => {
      view.moved();
      if (event.deltaY >= 0 || event.ctrlKey || terminal.buffer.active.baseY > 0) return;
      void view.lookBack().then(() => terminal.scrollLines(-wheelLines));
    };
    const onFocusIn = (): void => {
      size.takeOver();
      handlers.current.onFocus();
    };
    element.addEventListener('wheel', onWheel, { passive: true });
    element.addEventListener('focusin', onFocusIn);
    handlers.current.onHandle({
      search,
      lookBack() {
        view.setLooking(true);
        return view.lookBack();
      },
      jump: (by) => void view.jump(by),
      toEnd() {
        view.setLooking(false);
        terminal.clearSelection();
        view.toEnd();
      },
      focus: () => terminal.focus(),
      press: (key) => typing.type({ key }),
      paths: () => pathsInSight(terminal, (path) => paths.current.find(path)),
      openPath: ({ path, line }) => void paths.current.open(path, line),
    });

    return () => {
      handlers.current.onHandle(null);
      element.removeEventListener('wheel', onWheel);
      element.removeEventListener('focusin', onFocusIn);
      size.close();
      onScroll.dispose();
      view.close();
      typing.close();
      watching.close();
      opened.dispose();
      open.current = null;
      watch.current = null;
      marks.current = null;
    };
  }, [api, pane, slots, terminalRenderer]);

  // Another bot that gets the same name changes what this one is called: no reason for another terminal, which would not have the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new terminal needs the name, too
  useEffect(() => open.current?.setLabel(label), [label, api, pane, slots, terminalRenderer]);

  useEffect(() => {
    open.current?.setLook({
      scheme,
      fontSize: terminalFontSize,
      palette: terminalPalette,
      renderer: terminalRenderer,
      screenReader,
    });
    marks.current?.redraw();
  }, [scheme, terminalFontSize, terminalPalette, terminalRenderer, screenReader]);
  useEffect(() => watch.current?.setUrgent(active), [active]);
  useEffect(() => {
    if (watchRequest > 0) watch.current?.again();
  }, [watchRequest]);
  useEffect(() => {
    if (focusRequest === 0) return;
    // The dock moves a pane into place after it was shown, which would lose the focus again.
    const timer = setTimeout(() => open.current?.terminal.focus(), 0);
    return () => clearTimeout(timer);
  }, [focusRequest]);

  return (
    <div
      ref={box}
      className="absolute inset-0 overflow-auto [&_.xterm]:pl-1.5 [&_.xterm-viewport]:bg-transparent!"
      data-pane-terminal={props.bot.id}
    />
  );
}
