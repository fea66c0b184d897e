/**
 * The app's window events, dispatched by one helper and heard in one place. A detail of another shape is ignored,
 * because any code on the page may dispatch one.
 */
import { type WindowEventDetail, type WindowEventName, windowEvents } from '../../contracts/desktop/window-events.ts';

export function dispatchWindowEvent<N extends WindowEventName>(name: N, detail: WindowEventDetail<N>): void {
  window.dispatchEvent(new CustomEvent(name, { detail }));
}

type WindowEventHandlers = { readonly [N in WindowEventName]: (detail: WindowEventDetail<N>) => void };

/** Returns the way to stop. */
export function hearWindowEvents(target: EventTarget, handlers: WindowEventHandlers): () => void {
  const stops = (Object.keys(windowEvents) as WindowEventName[]).map((name) => hear(target, name, handlers));
  return () => {
    for (const stop of stops) stop();
  };
}

function hear<N extends WindowEventName>(target: EventTarget, name: N, handlers: WindowEventHandlers): () => void {
  const listener = (event: Event): void => {
    const detail = windowEvents[name].safeParse((event as CustomEvent<unknown>).detail);
    if (detail.success) handlers[name](detail.data as WindowEventDetail<N>);
  };
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
}
