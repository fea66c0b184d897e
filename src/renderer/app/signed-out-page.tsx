/** Replaces all pages while nobody is signed in, and while a signed-in person has no computer yet. */
import { useQuery } from '@tanstack/react-query';
import { PairFirst } from '../base/no-computer.tsx';
import { useServices } from '../base/services.tsx';
import { Button } from '../ui/button.tsx';
import { Command } from '../ui/copy.tsx';
import { SkeletonRows } from '../ui/list-states.tsx';
import { Problem } from '../ui/problem.tsx';

/** `ended`: somebody was signed in while this page was open. */
export function SignedOutPage({ ended }: { ended: boolean }) {
  const { queries } = useServices();
  const issuer = useQuery(queries.signInPlace);
  const next = window.location.pathname + window.location.search;
  return (
    <main className="mx-auto flex h-full max-w-[480px] flex-col items-start justify-center gap-3 p-6">
      <h1 className="text-page font-semibold">{ended ? 'Your session has ended' : 'This browser is not signed in'}</h1>
      {issuer.data === undefined && issuer.error === null && (
        <div className="w-full">
          <SkeletonRows count={2} />
        </div>
      )}
      {issuer.error !== null && <Problem error={issuer.error} onRetry={() => void issuer.refetch()} />}
      {typeof issuer.data === 'string' && (
        <>
          <p className="text-muted">
            {ended
              ? 'You were signed out, here or from another device, or the session expired. Your bots keep running.'
              : 'Sign in to reach your computers and the bots on them.'}
          </p>
          <Button kind="primary" autoFocus onClick={() => window.location.assign(loginAddress(next))}>
            Sign in
          </Button>
          <p className="text-meta text-muted">
            Opens <span className="font-mono break-all">{issuer.data}</span>. Gantry never sees your password.
          </p>
        </>
      )}
      {issuer.data === null && (
        <>
          <p className="text-muted">
            Gantry opens with a sign-in link that works once, for ten minutes. Print a new one on the computer where
            Gantry runs:
          </p>
          <Command text="npx gantry open" />
          <p className="text-muted">Or press Enter in the terminal where Gantry was started.</p>
        </>
      )}
    </main>
  );
}

/** Comes back to where the person was. */
const loginAddress = (next: string): string => `/login?next=${encodeURIComponent(next)}`;

export function NoComputerPage() {
  return (
    <main className="min-w-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-[560px] flex-col items-start gap-3 p-6">
        <h1 className="text-page font-semibold">Pair your first computer</h1>
        <PairFirst />
      </div>
    </main>
  );
}
