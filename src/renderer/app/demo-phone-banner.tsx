/** A permanent banner on every page while the phone's carrier is simulated, so that nobody takes a text for a real one. */
import { useQuery } from '@tanstack/react-query';
import { PhoneOff } from 'lucide-react';
import { useServices } from '../base/services.tsx';

export function DemoPhoneBanner() {
  const { queries } = useServices();
  if (useQuery(queries.session).data?.demoPhone !== true) return null;
  return (
    <section
      aria-label="Demo phone"
      data-demo-phone="true"
      className="flex min-h-6 shrink-0 items-center justify-center gap-1.5 border-b border-line bg-raised px-3 text-meta"
    >
      <PhoneOff className="size-3 shrink-0" aria-hidden="true" />
      Simulated carrier: no real texts or calls
    </section>
  );
}
