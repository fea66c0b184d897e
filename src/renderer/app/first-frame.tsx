/** The frame while the page is loading: the same lines in the same places, so that nothing jumps. */
import { useLateParts } from './use-late-parts.ts';

export function FirstFrame() {
  const wait = useLateParts();
  return (
    <div className="flex h-(--seen) flex-col bg-window text-ui">
      <div className="flex min-h-0 flex-1">
        <div className="w-12 shrink-0 border-r border-line bg-panel max-[639px]:hidden" />
        <main aria-busy={wait === null} className="min-w-0 flex-1 p-6">
          {wait !== null && (
            <p role="status" className="text-muted">
              {wait === 'away'
                ? 'Gantry does not answer. This page opens as soon as it does.'
                : 'This page cannot be loaded. Gantry may have been updated: reload the page.'}
            </p>
          )}
        </main>
      </div>
      <div className="h-6 shrink-0 border-t border-line bg-panel max-[639px]:box-content max-[639px]:h-14 max-[639px]:pb-[env(safe-area-inset-bottom)]" />
    </div>
  );
}
