/** From a page beside the queue, back to it. */
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';

export function BackToQueue() {
  return (
    <Link
      to="/queue"
      aria-label="Back to the queue"
      title="Back to the queue"
      className="inline-flex size-6 shrink-0 items-center justify-center rounded-control text-muted hover:bg-raised hover:text-ink pointer-coarse:size-10"
    >
      <ArrowLeft className="size-3.5" aria-hidden="true" />
    </Link>
  );
}
