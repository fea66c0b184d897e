/** While the next page cannot be loaded, the open one stays, and one line says what the app is waiting for. */
import { useRouter, useRouterState } from '@tanstack/react-router';
import { places } from '../base/rail-places.ts';
import { Button } from '../ui/button.tsx';
import { useLateParts } from './use-late-parts.ts';

export function LateNotice() {
  const wait = useLateParts();
  const router = useRouter();
  const wanted = useRouterState({
    select: ({ status, location }) => (status === 'pending' ? location.pathname : null),
  });
  if (wait === null || (wait === 'away' && wanted === null)) return null;
  const place = places.find(({ path }) => (path === '/' ? wanted === '/' : wanted?.startsWith(path)));
  const shown = router.state.resolvedLocation?.href;
  return (
    <div
      role="status"
      className="flex min-h-10 shrink-0 flex-wrap items-center gap-3 border-b border-line bg-raised px-3 py-1"
    >
      {wait === 'other' ? (
        <>
          <p className="min-w-0">Part of this page cannot be loaded. Gantry may have been updated.</p>
          <Button onClick={() => window.location.reload()}>Reload</Button>
        </>
      ) : (
        <>
          <p className="min-w-0">Gantry does not answer. {place?.name ?? 'The page'} opens as soon as it does.</p>
          {shown !== undefined && (
            <Button onClick={() => void router.navigate({ href: shown, replace: true })}>Stay here</Button>
          )}
        </>
      )}
    </div>
  );
}
