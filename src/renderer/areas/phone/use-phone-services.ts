/** The services of the page with the calls and reads of this area, which no other page loads; and what an answer changes of what is known. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { PhoneNumber, Port } from '../../../contracts/phone/number.ts';
import { useServices } from '../../base/services.tsx';
import { createPhoneApi } from './api.ts';
import { phoneKeys, phoneQueriesOf } from './queries.ts';

export function usePhoneServices() {
  const services = useServices();
  return useMemo(() => {
    const phone = createPhoneApi(services.api.home);
    return {
      ...services,
      api: { ...services.api, phone },
      queries: { ...services.queries, ...phoneQueriesOf(phone) },
    };
  }, [services]);
}

/** Whether the carrier is simulated. */
export function useIsDemo(): boolean {
  const { queries } = useServices();
  return useQuery(queries.session).data?.demoPhone === true;
}

/** What is known of a number from its own answer, before the list is read again; `gone`: it was released. */
export function usePutNumber(): (number: PhoneNumber, how?: { port?: Port; gone?: true }) => void {
  const client = useQueryClient();
  return (number, { port, gone } = {}) => {
    // An answer that is under way is older than this.
    void client.cancelQueries({ queryKey: phoneKeys.numbers });
    client.setQueryData<readonly PhoneNumber[]>(phoneKeys.numbers, (old) => {
      const others = (old ?? []).filter((one) => one.id !== number.id);
      if (gone === true) return others;
      return old?.some((one) => one.id === number.id)
        ? old.map((one) => (one.id === number.id ? number : one))
        : [...others, number];
    });
    if (port !== undefined) client.setQueryData(phoneKeys.of(number.id, 'port'), port);
    if (gone === true) client.removeQueries({ queryKey: phoneKeys.of(number.id) });
    void client.invalidateQueries({ queryKey: phoneKeys.numbers });
  };
}

/** Reads a part of a number again after something was done to it; without a part, all of it. */
export function useTouchNumber(): (id: string, part?: string) => void {
  const client = useQueryClient();
  return (id, part) =>
    void client.invalidateQueries({ queryKey: part === undefined ? phoneKeys.of(id) : phoneKeys.of(id, part) });
}
