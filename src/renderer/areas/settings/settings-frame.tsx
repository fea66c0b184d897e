/** The settings: their pages at the left, above where it is narrow; the chosen one in the middle. */
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useLayoutEffect, useRef } from 'react';
import { PairFirst, useNoComputer } from '../../base/no-computer.tsx';
import { useServices } from '../../base/services.tsx';
import { Card } from '../../ui/card.tsx';
import { sectionsIn } from './sections.ts';

const item =
  'flex h-7 items-center rounded-control px-2.5 text-muted hover:bg-raised hover:text-ink data-[status=active]:bg-selected data-[status=active]:text-ink pointer-coarse:h-10';

/** Pages that show what is on a computer. */
const ofComputers: readonly string[] = ['/settings/set-up', '/settings/agent-accounts'];

export function SettingsFrame() {
  const { desktop } = useServices();
  const page = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const unpaired = useNoComputer() && ofComputers.includes(path);
  // A block: scrolling answers a promise, which is no way to end an effect.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page of the settings begins at its top
  useLayoutEffect(() => {
    page.current?.scrollTo(0, 0);
  }, [path]);
  return (
    <main ref={page} className="min-w-0 flex-1 overflow-y-auto">
      <div className="mx-auto grid max-w-[980px] gap-4 p-4 sm:p-6 md:grid-cols-[164px_minmax(0,1fr)] md:gap-6">
        <div className="flex flex-col gap-3 md:sticky md:top-6 md:self-start">
          <h1 className="text-page font-semibold">Settings</h1>
          <nav aria-label="Settings" className="flex flex-wrap gap-1 md:flex-col">
            {sectionsIn(desktop !== null).map((section) => (
              <Link key={section.path} to={section.path} className={item}>
                {section.name}
              </Link>
            ))}
          </nav>
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          {unpaired ? (
            <Card title="Pair your first computer">
              <div className="flex flex-col items-start gap-3 p-3">
                <PairFirst />
              </div>
            </Card>
          ) : (
            <Outlet />
          )}
        </div>
      </div>
    </main>
  );
}
