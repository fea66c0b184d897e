/**
 * A screen, live: the picture, the pointer, and an outline of the next action before it happens. While the person has control, their input in the
 * picture happens there. Must not know runs.
 */
import { Keyboard, MousePointer2 } from 'lucide-react';
import {
  type ClipboardEvent,
  type FocusEvent,
  type FormEvent,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
  type WheelEvent,
} from 'react';
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import { Button } from '../../ui/button.tsx';
import type { LiveView as View } from './live-view-store.ts';
import {
  backCall,
  clickCall,
  dragCall,
  type PersonCall,
  type Point,
  pointIn,
  pressed,
  scrollCall,
  typedBetween,
} from './person-input.ts';

/** Before there is a frame: most screens are about this. */
const defaultSize = { width: 1280, height: 800 };
/** Letters that come quickly are one text, ms. */
const typingMs = 120;
/** So many pixels are a drag and no click. */
const dragFrom = 5;
const wheelMs = 150;
/** Stands in the field that a keyboard on glass types into: where nothing stands, deleting does nothing. */
const padding = ' '.repeat(64);
/** A second click within this is a double one, ms. */
const doubleMs = 400;

export function LiveView({
  view,
  toolset,
  mine,
  onCall,
  onLeave,
  onAgain,
}: {
  view: View;
  toolset: Toolset;
  mine: boolean;
  onCall: (call: PersonCall) => void;
  /** The person wants the focus out of the picture. */
  onLeave: () => void;
  /** After it was gone. */
  onAgain: () => void;
}) {
  const { frame, pointer, next, gone, link } = view;
  const size = frame ?? defaultSize;
  const percent = (part: number, whole: number) => `${(part / whole) * 100}%`;
  const label = mine ? 'Live view: you have control' : 'Live view';
  const { input, typing } = useInput(size, toolset, onCall, onLeave);
  const hasInput = mine && frame !== null && gone === null;
  return (
    <>
      <div
        className={`relative w-full overflow-hidden rounded-panel border bg-terminal ${mine ? 'border-accent' : 'border-line'}`}
        style={{ aspectRatio: `${size.width} / ${size.height}` }}
      >
        {frame !== null && (
          <img
            src={`data:image/jpeg;base64,${frame.data}`}
            alt={mine ? '' : label}
            draggable={false}
            className={`absolute inset-0 size-full select-none ${gone === null && link === 'open' ? '' : 'opacity-40'}`}
          />
        )}
        {next !== null && gone === null && next.region !== null && (
          <span
            data-next="true"
            aria-hidden="true"
            className="pointer-events-none absolute rounded-control border-2 border-accent shadow-float transition-[left,top,width,height] duration-[120ms]"
            style={{
              left: percent(next.region.x, size.width),
              top: percent(next.region.y, size.height),
              width: percent(Math.max(next.region.width, 8), size.width),
              height: percent(Math.max(next.region.height, 8), size.height),
            }}
          />
        )}
        {pointer !== null && frame !== null && gone === null && (
          <MousePointer2
            data-pointer="true"
            aria-hidden="true"
            className="pointer-events-none absolute size-5 fill-window text-ink transition-[left,top] duration-[120ms]"
            style={{ left: percent(pointer.x, size.width), top: percent(pointer.y, size.height) }}
          />
        )}
        {hasInput && (
          <>
            <textarea
              aria-label="Type on the computer"
              data-live-typing="true"
              tabIndex={-1}
              rows={1}
              autoCapitalize="none"
              autoComplete="off"
              autoCorrect="off"
              spellCheck={false}
              defaultValue={padding}
              {...typing.field}
              // Letters of 16 px: browsers on phones enlarge the page for a field with smaller ones.
              className="pointer-events-none absolute bottom-0 left-0 h-8 w-full resize-none text-[16px] opacity-0"
            />
            <div
              role="application"
              aria-label={label}
              aria-describedby="leave-view"
              data-live-input="true"
              {...input}
              className="absolute inset-0 cursor-crosshair touch-none"
            />
          </>
        )}
        {gone !== null ? (
          <Said words={gone.message}>
            <Button onClick={onAgain}>Try again</Button>
          </Said>
        ) : frame === null ? (
          <Said words={link === 'waiting' ? 'No picture yet. Gantry keeps trying.' : 'Loading the picture…'} />
        ) : link === 'waiting' ? (
          <Said words="The connection was lost. Reconnecting…" />
        ) : null}
      </div>
      {hasInput && (
        <div className="hidden any-pointer-coarse:block">
          <Button icon={Keyboard} aria-pressed={typing.isOpen} {...typing.button}>
            {typing.isOpen ? 'Hide keyboard' : 'Keyboard'}
          </Button>
        </div>
      )}
    </>
  );
}

function Said({ words, children }: { words: string; children?: ReactNode }) {
  return (
    <div role="status" className="absolute inset-0 flex flex-col items-center justify-center gap-2 p-3 text-center">
      <p className="max-w-full rounded-control bg-panel px-2 py-1 break-words">{words}</p>
      {children}
    </div>
  );
}

/** Handlers of the picture while control is the person's. */
function useInput(
  size: { readonly width: number; readonly height: number },
  toolset: Toolset,
  onCall: (call: PersonCall) => void,
  onLeave: () => void,
) {
  const field = useRef<HTMLTextAreaElement>(null);
  const held = useRef(padding);
  const [isOpen, setOpen] = useState(false);
  const down = useRef<{ readonly at: Point; readonly client: Point } | null>(null);
  const clicked = useRef({ at: 0, client: { x: 0, y: 0 } });
  const typed = useRef({ text: '', timer: 0 });
  const wheel = useRef({ x: 0, y: 0, timer: 0 });
  useEffect(() => {
    const [typing, turning] = [typed.current, wheel.current];
    return () => {
      clearTimeout(typing.timer);
      clearTimeout(turning.timer);
    };
  }, []);
  const at = (event: { currentTarget: HTMLElement; clientX: number; clientY: number }): Point =>
    pointIn(event.currentTarget.getBoundingClientRect(), size, { x: event.clientX, y: event.clientY });
  /** What was typed happens before what comes after it. */
  const flush = () => {
    clearTimeout(typed.current.timer);
    const { text } = typed.current;
    typed.current = { text: '', timer: 0 };
    if (text !== '') onCall({ toolset, member: 'type', input: { text } });
  };
  const type = (text: string) => {
    clearTimeout(typed.current.timer);
    typed.current = { text: typed.current.text + text, timer: window.setTimeout(flush, typingMs) };
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.ctrlKey && event.shiftKey && event.key.toLowerCase() === 'l') {
      event.preventDefault();
      return onLeave();
    }
    // A word that is still being put together arrives as text.
    if (event.nativeEvent.isComposing) return;
    const press = pressed(event);
    // What this computer's clipboard holds is typed there: the paste itself brings it.
    if (press === null || ('chord' in press && press.chord === 'ctrl+v')) return;
    // Nothing of it is meant for this page.
    event.preventDefault();
    event.stopPropagation();
    if ('text' in press) return type(press.text);
    flush();
    onCall({ toolset, member: 'key', input: { text: press.chord } });
  };
  const onPaste = (event: ClipboardEvent<HTMLElement>) => {
    event.preventDefault();
    type(event.clipboardData.getData('text/plain'));
  };
  const pad = (area: HTMLTextAreaElement) => {
    area.value = padding;
    held.current = padding;
    area.setSelectionRange(padding.length, padding.length);
  };
  const typing = {
    isOpen,
    field: {
      ref: field,
      onKeyDown,
      onPaste,
      onInput(event: FormEvent<HTMLTextAreaElement>) {
        const area = event.currentTarget;
        const { back, text } = typedBetween(held.current, area.value);
        held.current = area.value;
        if (back > 0) {
          flush();
          onCall(backCall(toolset, back));
        }
        if (text !== '') type(text);
        // Not in the middle of a word: the keyboard would lose what it is about to change.
        const { isComposing } = event.nativeEvent as InputEvent;
        if (!isComposing && (area.value.length < padding.length / 2 || area.value.length > 4 * padding.length))
          pad(area);
      },
      onFocus: (event: FocusEvent<HTMLTextAreaElement>) => {
        pad(event.currentTarget);
        setOpen(true);
      },
      onBlur: () => setOpen(false),
    },
    button: {
      // The field keeps the focus until the click decides what happens to it.
      onMouseDown: (event: MouseEvent) => event.preventDefault(),
      onClick: () => (isOpen ? field.current?.blur() : field.current?.focus()),
    },
  };
  const input = {
    tabIndex: 0,
    // A tap where to type must not close the keyboard.
    onMouseDown: (event: MouseEvent) => isOpen && event.preventDefault(),
    onPointerDown(event: PointerEvent<HTMLDivElement>) {
      if (!isOpen) event.currentTarget.focus();
      event.currentTarget.setPointerCapture(event.pointerId);
      if (event.button === 0) down.current = { at: at(event), client: { x: event.clientX, y: event.clientY } };
    },
    onPointerUp(event: PointerEvent<HTMLDivElement>) {
      const from = down.current;
      down.current = null;
      if (from === null || event.button !== 0) return;
      flush();
      const far = Math.hypot(event.clientX - from.client.x, event.clientY - from.client.y);
      if (far >= dragFrom) return onCall(dragCall(toolset, from.at, at(event)));
      const { at: before, client } = clicked.current;
      const near = Math.hypot(event.clientX - client.x, event.clientY - client.y) < dragFrom;
      const twice = near && event.timeStamp - before < doubleMs;
      clicked.current = { at: twice ? 0 : event.timeStamp, client: from.client };
      onCall(clickCall(toolset, twice ? 'double_click' : 'left_click', from.at));
    },
    onContextMenu(event: MouseEvent<HTMLDivElement>) {
      event.preventDefault();
      flush();
      onCall(clickCall(toolset, 'right_click', at(event)));
    },
    onWheel(event: WheelEvent<HTMLDivElement>) {
      const place = at(event);
      wheel.current.x += event.deltaX;
      wheel.current.y += event.deltaY;
      if (wheel.current.timer !== 0) return;
      wheel.current.timer = window.setTimeout(() => {
        const call = scrollCall(toolset, place, wheel.current);
        wheel.current = { x: 0, y: 0, timer: 0 };
        if (call !== null) onCall(call);
      }, wheelMs);
    },
    onKeyDown,
    onPaste,
  };
  return { input, typing };
}
