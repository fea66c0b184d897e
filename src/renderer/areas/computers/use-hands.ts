/**
 * A person's control of a screen that they watch: takes and keeps control, gives it back, and sends typed text and clicks one after the other. Must
 * not know how a screen is drawn.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Control } from '../../../contracts/computer-use/toolset.ts';
import { controlSeconds } from '../../../contracts/computer-use/toolset.ts';
import type { LiveView, LiveViewStore } from './live-view-store.ts';
import type { PersonCall } from './person-input.ts';
import { useHandsServices } from './use-hands-services.ts';
import type { Screen } from './use-live-view.ts';

interface Hands {
  /** Control is this page's: what is done in the picture happens on the computer. */
  readonly mine: boolean;
  readonly failure: unknown;
  take(): Promise<void>;
  release(): Promise<void>;
  send(call: PersonCall): void;
}

export function useHands(screen: Screen, view: LiveView, store: LiveViewStore | null): Hands {
  const { api } = useHandsServices();
  const [held, setHeld] = useState<Control['holder']>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const { id, session } = screen;
  const holder = view.control?.holder ?? null;
  const mine = held !== null && holder?.kind === held.kind && holder.id === held.id;
  const frame = useRef(view.frame);
  frame.current = view.frame;

  const tell = useCallback(
    (control: Control) => {
      store?.tellControl(control);
      return control.holder;
    },
    [store],
  );
  const guarded = useCallback(async (act: () => Promise<unknown>) => {
    setFailure(null);
    try {
      await act();
    } catch (error) {
      setFailure(error);
    }
  }, []);
  const take = useCallback(
    () => guarded(async () => setHeld(tell(await api.device.takeControl({ params: { id } })))),
    [api, guarded, id, tell],
  );
  const release = useCallback(
    () =>
      guarded(async () => {
        tell(await api.device.releaseControl({ params: { id } }));
        setHeld(null);
      }),
    [api, guarded, id, tell],
  );

  useEffect(() => {
    if (!mine) return;
    const timer = setInterval(
      () => void api.device.renewControl({ params: { id } }).then(tell, () => setHeld(null)),
      (controlSeconds * 1000) / 3,
    );
    return () => clearInterval(timer);
  }, [api, id, mine, tell]);

  const send = useCallback(
    ({ toolset, member, input }: PersonCall) => {
      queue.current = queue.current.then(() =>
        guarded(async () => {
          const { width, height } = frame.current ?? {};
          const body = {
            toolset,
            member,
            input: { ...input },
            ...(width === undefined || height === undefined ? {} : { model_frame: { width, height } }),
            ...(session === undefined ? {} : { browser_session_id: session }),
          };
          const { error } = await api.device.callToolset({ params: { id }, body });
          if (error !== undefined) throw new Error(error.message);
        }),
      );
    },
    [api, guarded, id, session],
  );
  return { mine, failure, take, release, send };
}
