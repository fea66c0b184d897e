/** Banners that stand on every page while something holds for all of them: the carrier is simulated, the disk is full. */
import { useQuery } from '@tanstack/react-query';
import { HardDrive, PhoneOff } from 'lucide-react';
import { useFloors } from '../base/floors.tsx';
import { useLink, useServices } from '../base/services.tsx';

/** So that nobody takes a simulated text for a real one. */
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

/** No event can say that none is kept; ms. */
const every = { wellMs: 10_000, fullMs: 3_000 };

/** While actions would be refused. Disappears once writes succeed again. */
export function FullDiskBanner() {
  const { queries } = useServices();
  const linked = useLink().kind === 'linked';
  const here = useFloors().find(({ place }) => place.scope === null)?.place;
  const health = useQuery({
    ...queries.health,
    enabled: linked && here !== undefined && !here.away,
    refetchInterval: ({ state: { data } }) => (data?.ok === false ? every.fullMs : every.wellMs),
  }).data;
  const full = health?.ok === false;
  const doctor = useQuery({ ...queries.doctor, enabled: full, staleTime: 0 }).data;
  if (!full) return null;
  const check = doctor?.checks.find(
    ({ group, name, state }) => group === 'disk' && name === 'Database' && state !== 'ok',
  );
  return (
    <section
      aria-label="Full disk"
      role="alert"
      data-full-disk="true"
      className="flex min-h-6 shrink-0 items-start justify-center gap-x-1.5 border-b border-line bg-raised px-3 py-0.5 text-meta"
    >
      <HardDrive className="mt-0.5 size-3 shrink-0 text-fail" aria-hidden="true" />
      <span className="min-w-0 wrap-anywhere">
        {check?.detail ?? 'The disk is full. Gantry accepts no new work until there is space.'}{' '}
        {check?.fix ?? 'Free some space; Gantry then continues automatically'}.
      </span>
    </section>
  );
}
