/** The person's actions on a run, always in the same places; unavailable ones are greyed. */
import { Check, CirclePause, CirclePlay, Hand, HandGrab, Square } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { Kbd } from '../../ui/kbd.tsx';

interface ControlBarProps {
  readonly paused: boolean;
  readonly mine: boolean;
  /** Null: cannot be done now. */
  readonly onPause: (() => void) | null;
  readonly onResume: (() => void) | null;
  readonly onTake: (() => void) | null;
  readonly onRelease: (() => void) | null;
  readonly onApprove: (() => void) | null;
  readonly onStop: (() => void) | null;
}

export function ControlBar({ paused, mine, ...on }: ControlBarProps) {
  return (
    <div role="toolbar" aria-label="Run controls" className="grid grid-cols-2 gap-1.5 sm:flex">
      {paused ? (
        <Place act={on.onResume} name="resume" keys="p" icon={<CirclePlay aria-hidden="true" />}>
          Resume
        </Place>
      ) : (
        <Place act={on.onPause} name="pause" keys="p" icon={<CirclePause aria-hidden="true" />}>
          Pause
        </Place>
      )}
      {mine ? (
        <Place act={on.onRelease} name="release" keys="t" icon={<Hand aria-hidden="true" />}>
          Give back
        </Place>
      ) : (
        <Place act={on.onTake} name="take" keys="t" icon={<HandGrab aria-hidden="true" />}>
          Take over
        </Place>
      )}
      <Place act={on.onApprove} name="approve" icon={<Check aria-hidden="true" />}>
        Approve
      </Place>
      <Place act={on.onStop} name="stop" keys="x" danger icon={<Square aria-hidden="true" />}>
        Stop
      </Place>
    </div>
  );
}

function Place({
  act,
  name,
  keys,
  icon,
  danger = false,
  children,
}: {
  act: (() => void) | null;
  name: string;
  keys?: string;
  icon: ReactNode;
  danger?: boolean;
  children: ReactNode;
}) {
  return (
    <Button
      kind={act !== null && danger ? 'danger' : 'plain'}
      data-control={name}
      disabled={act === null}
      aria-keyshortcuts={keys}
      onClick={() => act?.()}
      className="sm:w-32 [&_svg]:size-3.5 [&_svg]:shrink-0"
    >
      {icon}
      {children}
      {keys !== undefined && (
        <span className="max-sm:hidden">
          <Kbd keys={keys} />
        </span>
      )}
    </Button>
  );
}
