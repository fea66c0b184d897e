/**
 * The words of a delivery: what this tab sent, else its first words, else, where an event has just reported it, the message of its thread.
 */
import { useQueries } from '@tanstack/react-query';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import { useServices } from './services.tsx';

/** Threads looked into at most: those of the newest deliveries. */
const maxThreads = 5;

export function useDeliveryText(deliveries: readonly Delivery[] | undefined): (delivery: Delivery) => string | null {
  const { queries, sentTexts } = useServices();
  const unknown = (deliveries ?? []).filter((one) => sentTexts.of(one.id) === null && one.firstWords === undefined);
  const threads = [...new Set(unknown.flatMap((one) => one.threadId ?? []))].slice(0, maxThreads);
  const answers = useQueries({ queries: threads.map((id) => queries.messagesOf(id)) });
  const texts = new Map(
    answers.flatMap((answer) =>
      (answer.data?.messages ?? []).map((message): [string | undefined, string] => [message.deliveryId, message.text]),
    ),
  );
  return (delivery) => sentTexts.of(delivery.id) ?? delivery.firstWords ?? texts.get(delivery.id) ?? null;
}
