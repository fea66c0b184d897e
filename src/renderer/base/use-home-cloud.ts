/** Where questions, notifications and sign-ins are kept, where that is not this computer itself. */
import { useQuery } from '@tanstack/react-query';
import { useServices } from './services.tsx';

/** No event reports whether a paired computer reaches its home cloud, so it is polled; ms. */
const homeEvery = 10_000;

interface HomeCloud {
  readonly name: string;
  /** Whether this computer's link to it is up; null where the page is the cloud's own. */
  readonly linked: boolean | null;
  readonly since: string | null;
}

/** Null: this computer is its own home, or it is not known yet. */
export function useHomeCloud(): HomeCloud | null {
  const { queries } = useServices();
  const mode = useQuery(queries.session).data?.mode;
  const pairing = useQuery({ ...queries.pairing, enabled: mode === 'embedded', refetchInterval: homeEvery }).data;
  if (mode === 'headless') return { name: window.location.host, linked: null, since: null };
  if (pairing?.state !== 'paired') return null;
  const { cloudUrl, link } = pairing;
  return {
    name: cloudUrl !== undefined && URL.canParse(cloudUrl) ? new URL(cloudUrl).host : 'its cloud',
    linked: link?.linked ?? null,
    since: link?.since ?? null,
  };
}

/**
 * Whether there may be a carrier to have numbers from: here, as its session says, or at the cloud that this computer is linked to. Null: it
 * is not known yet.
 */
export function useHasPhone(): boolean | null {
  const { queries } = useServices();
  const session = useQuery(queries.session).data;
  const pairing = useQuery({ ...queries.pairing, enabled: session?.mode === 'embedded' });
  const home = useHomeCloud();
  if (session?.phone === true || (home !== null && home.linked !== null)) return true;
  return session === undefined || (session.mode === 'embedded' && pairing.isPending) ? null : false;
}
