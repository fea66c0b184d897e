/**
 * How the tracker behaves badly when it is told to: answers that are none, and deliveries that no receiver may take. Each
 * fault is armed for a number of times and then over.
 */

export const answerFaults = ['garbage', 'cut_short', 'hang', 'rate_limited', 'unavailable', 'wrong_shape'] as const;
export type AnswerFault = (typeof answerFaults)[number];

export const deliveryFaults = [
  'wrong_signature',
  'unsigned',
  'stale',
  'from_the_future',
  'oversize',
  'wrong_name',
  'wrong_id',
  'bad_data',
  'bad_time',
  'reserialised',
  'resent',
] as const;
export type DeliveryFault = (typeof deliveryFaults)[number];

export interface Faults {
  /** The next `times` (default 1) requests, of this method only where one is named, are answered so. */
  answerWith(fault: AnswerFault, options?: { readonly method?: string; readonly times?: number }): void;
  /** The next `times` (default 1) attempts to deliver an event go wrong so. */
  deliverWith(fault: DeliveryFault, times?: number): void;
  /** Nothing is armed any more. */
  behave(): void;
  takeAnswer(method: string): AnswerFault | undefined;
  takeDelivery(): DeliveryFault | undefined;
}

export function createFaults(): Faults {
  let answers: { fault: AnswerFault; method?: string; left: number }[] = [];
  let deliveries: { fault: DeliveryFault; left: number }[] = [];
  return {
    answerWith(fault, options = {}) {
      const { method, times = 1 } = options;
      answers.push({ fault, left: times, ...(method === undefined ? {} : { method }) });
    },
    deliverWith(fault, times = 1) {
      deliveries.push({ fault, left: times });
    },
    behave() {
      answers = [];
      deliveries = [];
    },
    takeAnswer(method) {
      const armed = answers.find((one) => one.left > 0 && (one.method === undefined || one.method === method));
      if (armed !== undefined) armed.left -= 1;
      return armed?.fault;
    },
    takeDelivery() {
      const armed = deliveries.find((one) => one.left > 0);
      if (armed !== undefined) armed.left -= 1;
      return armed?.fault;
    },
  };
}
