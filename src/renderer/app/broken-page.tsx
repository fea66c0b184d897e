/** Pages for an unknown address, and for a fault of the page itself. */
import { Link } from '@tanstack/react-router';
import { Button } from '../ui/button.tsx';
import { Problem } from '../ui/problem.tsx';

export function UnknownPage() {
  return (
    <main className="flex min-h-0 flex-1 flex-col items-start gap-3 p-6">
      <h1 className="text-page font-semibold">Page not found</h1>
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
      <h1 className="text-page font-semibold">This page crashed</h1>
      <Problem error={error}>
        <Button kind="primary" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </Problem>
    </main>
  );
}
