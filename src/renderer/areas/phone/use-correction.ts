/** The newest correction of the registration while it concerns its person: a dismissed refusal no longer counts. */
import { useQueryClient } from '@tanstack/react-query';
import type { Correction, Registration } from '../../../contracts/phone/registration.ts';
import { useServices, useSettings } from '../../base/services.tsx';
import { phoneKeys } from './queries.ts';

/** Put away on this browser; a business rarely has a second one. */
const kept = 20;

interface ShownCorrection {
  readonly correction: Correction | null;
  /** Puts a refusal away, with what was typed to mend it: the form has what is registered again. */
  dismiss(): void;
}

export function useCorrection(numberId: string, registration: Registration | null): ShownCorrection {
  const { settings } = useServices();
  const { dismissedCorrections } = useSettings();
  const client = useQueryClient();
  const newest = registration?.correction ?? null;
  const isDismissed = newest?.state === 'refused' && dismissedCorrections.includes(newest.askedAt);
  return {
    correction: isDismissed ? null : newest,
    dismiss() {
      if (newest === null) return;
      client.removeQueries({ queryKey: phoneKeys.of(numberId, 'draft') });
      settings.set({ dismissedCorrections: [...dismissedCorrections, newest.askedAt].slice(-kept) });
    },
  };
}
