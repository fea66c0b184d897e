/** Pages for an address that is not there, for a browser that is not signed in, and for a fault of the page itself. */
import { Link } from '@tanstack/react-router';
import { Button } from '../ui/button.tsx';
import { Command } from '../ui/copy.tsx';
import { Problem } from '../ui/problem.tsx';

export function UnknownPage() {
  return (
    <main className="flex min-h-0 flex-1 flex-col items-start gap-3 p-6">
      <h1 className="text-page font-semibold">There is nothing at this address</h1>
      <p className="text-muted">The link may be from another version of Gantry.</p>
      <Link to="/" className="text-accent underline">
        Go to Home
      </Link>
    </main>
  );
}

export function BrokenPage({ error }: { error: unknown }) {
  return (
    <main className="flex min-h-0 flex-1 flex-col items-start gap-3 p-6">
      <h1 className="text-page font-semibold">This page broke</h1>
      <Problem error={error}>
        <Button kind="primary" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </Problem>
    </main>
  );
}

/** Everything behind it needs the cookie, which only a one-time address gives. */
export function SignedOutPage() {
  return (
    <main className="mx-auto flex h-full max-w-[480px] flex-col items-start justify-center gap-3 p-6">
      <h1 className="text-page font-semibold">This browser is not signed in</h1>
      <p className="text-muted">
        Gantry opens only from an address that it prints itself; each works once, for ten minutes. Ask for a new one on
        the computer where Gantry runs:
      </p>
      <Command text="npx gantry open" />
      <p className="text-muted">Or press Enter in the terminal where Gantry was started.</p>
    </main>
  );
}
