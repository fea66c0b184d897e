/**
 * The live terminal of one pane: draws screen events at the pane's own size, types in order, and sets the size while this
 * window is the one that works in it. Must not know the dock.
 */
import { SearchAddon } from '@xterm/addon-search';
import { useEffect, useMemo, useRef } from 'react';
import { useServices, useSettings } from '../../base/services.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { type OpenTerminal, openTerminal } from '../../ui/terminal/create-terminal.ts';
import { isFindKey, keyName } from '../../ui/terminal/keys.ts';
import { createTerminalMarks } from '../../ui/terminal/terminal-marks.ts';
import { createPathLinks } from './changes/path-links.ts';
import { useOpenPath } from './changes/use-open-path.ts';
import { createInputQueue } from './input-queue.ts';
import type { Said } from './marks.ts';
import { type PaneOwner, panePortOf } from './pane-port.ts';
import { createPaneView } from './pane-view.ts';
import { imagesIn, keepImages } from './paste-images.ts';
import { type PaneLink, watchScreen } from './screens.ts';

/** A person drags a split in many steps; the program learns the size once the hand rests for so many ms. */
const resizeRest = 120;
/** Lines of the first turn of the wheel, before there is anything to scroll. */
const wheelLines = 3;

export interface ScreenSize {
  readonly cols: number;
  readonly rows: number;
  /** Whether this window set it; else another viewer of the pane did. */
  readonly ours: boolean;
}

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
  const { terminalFontSize, terminalRenderer, screenReader } = useSettings();
  const scheme = useScheme();
  const box = useRef<HTMLDivElement>(null);
  const open = useRef<OpenTerminal>(null);
  const watch = useRef<ReturnType<typeof watchScreen>>(null);
  const marks = useRef<ReturnType<typeof createTerminalMarks>>(null);
  const handlers = useRef(props);
  handlers.current = props;
  const look = { scheme, fontSize: terminalFontSize, renderer: terminalRenderer, screenReader };
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
    const opened = openTerminal(element, { look: firstLook.current, label });
    open.current = opened;
    const { terminal } = opened;

    terminal.registerLinkProvider(
      createPathLinks(terminal, {
        find: (path) => paths.current.find(path),
        open: (path, line) => void paths.current.open(path, line),
      }),
    );

    // Size: asked for by the window that works in the pane; drawn as the screen says.
    let size: { cols: number; rows: number } | null = null;
    let asked: { cols: number; rows: number } | null = null;
    let ours = document.hasFocus();
    let resting: ReturnType<typeof setTimeout> | null = null;
    const askSize = (): void => {
      if (resting !== null) clearTimeout(resting);
      resting = setTimeout(() => {
        resting = null;
        const wanted = opened.proposeSize();
        if (wanted === null || size === null || wanted.cols < 2 || wanted.rows < 2) return;
        if (wanted.cols === (asked ?? size).cols && wanted.rows === (asked ?? size).rows) return;
        asked = wanted;
        pane.size(wanted).catch(() => {
          // The pane is gone or may not be resized: draw it at its present size.
          asked = null;
        });
      }, resizeRest);
    };
    const takeOver = (): void => {
      ours = true;
      askSize();
    };
    /** Who types looks at what they type. */
    const type: typeof typing.push = (input) => {
      typing.push(input);
      view.toEnd();
      takeOver();
    };
    const observer = new ResizeObserver(() => {
      if (ours) askSize();
    });
    observer.observe(element);

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
    let first = true;
    const watching = watchScreen(pane, slots, {
      onScreen(screen) {
        const changed = size === null || size.cols !== screen.cols || size.rows !== screen.rows;
        size = { cols: screen.cols, rows: screen.rows };
        if (asked !== null && changed) {
          if (asked.cols !== size.cols || asked.rows !== size.rows) ours = false;
          asked = null;
        } else if (changed && !first) ours = false;
        if (first && ours) askSize();
        first = false;
        if (changed) handlers.current.onSize({ ...size, ours });
        view.show(screen);
      },
      onLink: (link) => handlers.current.onLink(link),
    });
    watching.setUrgent(handlers.current.active);
    watch.current = watching;

    // Typing: named keys by name, everything else as text; one request in flight keeps the order.
    let over = false;
    const typing = createInputQueue(
      (input) => pane.input(input),
      (error) => handlers.current.onInputError(error),
    );
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.type !== 'keydown') return true;
      const control = event.ctrlKey && !event.altKey && !event.metaKey;
      const letter = event.key.toLowerCase();
      // Of the app: shortcuts with Ctrl Shift. Of the browser: paste, and copy when something is selected.
      if (control && event.shiftKey && ['p', 'l', 'f', 'arrowup', 'arrowdown'].includes(letter)) return false;
      if (isFindKey(event)) {
        event.preventDefault();
        handlers.current.onFind();
        return false;
      }
      if (control && letter === 'v') return false;
      if (control && letter === 'c' && (event.shiftKey || terminal.hasSelection())) {
        event.preventDefault();
        void navigator.clipboard.writeText(terminal.getSelection());
        terminal.clearSelection();
        return false;
      }
      const key = keyName({
        key: event.key,
        ctrlKey: event.ctrlKey,
        altKey: event.altKey,
        shiftKey: event.shiftKey,
        metaKey: event.metaKey,
        isComposing: event.isComposing,
        altGraph: event.getModifierState('AltGraph'),
      });
      if (key === null) return true;
      event.preventDefault();
      type({ key });
      return false;
    });
    const onData = terminal.onData((text) => type({ text }));
    /** Gives a program the path of an image that it can open. False: there was no image. */
    const putImages = (data: DataTransfer | null): boolean => {
      const images = imagesIn(data);
      if (images.length === 0 || handlers.current.bot.runner !== 'local') return false;
      keepImages(api.factory, handlers.current.bot.id, images).then(
        // A pane that is behind another tab by now still gets it.
        (paste) => (over ? pane.input({ text: paste, paste: true }) : type({ paste })),
        (error: unknown) => handlers.current.onInputError(error),
      );
      takeOver();
      return true;
    };
    const onDragOver = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
    };
    const onDrop = (event: DragEvent): void => {
      if (putImages(event.dataTransfer)) event.preventDefault();
    };
    // Send a paste as a paste, because only the pane knows whether its program wants it bracketed.
    const onPaste = (event: ClipboardEvent): void => {
      event.preventDefault();
      event.stopPropagation();
      if (putImages(event.clipboardData)) return;
      type({ paste: (event.clipboardData?.getData('text/plain') ?? '').replace(/\r?\n/g, '\r') });
    };
    const onWheel = (event: WheelEvent): void => {
      view.moved();
      if (event.deltaY >= 0 || event.ctrlKey || terminal.buffer.active.baseY > 0) return;
      void view.lookBack().then(() => terminal.scrollLines(-wheelLines));
    };
    const onFocusIn = (): void => {
      takeOver();
      handlers.current.onFocus();
    };
    element.addEventListener('paste', onPaste, { capture: true });
    element.addEventListener('dragover', onDragOver);
    element.addEventListener('drop', onDrop);
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
      press: (key) => type({ key }),
    });

    return () => {
      handlers.current.onHandle(null);
      element.removeEventListener('paste', onPaste, { capture: true });
      element.removeEventListener('dragover', onDragOver);
      element.removeEventListener('drop', onDrop);
      element.removeEventListener('wheel', onWheel);
      element.removeEventListener('focusin', onFocusIn);
      if (resting !== null) clearTimeout(resting);
      observer.disconnect();
      onData.dispose();
      onScroll.dispose();
      view.close();
      over = true;
      typing.close();
      watching.close();
      opened.dispose();
      open.current = null;
      watch.current = null;
      marks.current = null;
    };
  }, [api, pane, slots, label, terminalRenderer]);

  useEffect(() => {
    open.current?.setLook({ scheme, fontSize: terminalFontSize, renderer: terminalRenderer, screenReader });
    marks.current?.redraw();
  }, [scheme, terminalFontSize, terminalRenderer, screenReader]);
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
