/**
 * The words of a delivery, which does not carry them: what this tab sent, else the message of its thread. A message sent
 * elsewhere without a thread has none: its words are nowhere but in the pane.
 */
import { useQueries } from '@tanstack/react-query';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import { useServices } from './services.tsx';

/** Threads looked into at most: those of the newest deliveries. */
const mostThreads = 5;

export function useDeliveryText(deliveries: readonly Delivery[] | undefined): (delivery: Delivery) => string | null {
  const { queries, sentTexts } = useServices();
  const unknown = (deliveries ?? []).filter((one) => sentTexts.of(one.id) === null);
  const threads = [...new Set(unknown.flatMap((one) => one.threadId ?? []))].slice(0, mostThreads);
  const answers = useQueries({ queries: threads.map((id) => queries.messagesOf(id)) });
  const texts = new Map(
    answers.flatMap((answer) =>
      (answer.data?.messages ?? []).map((message): [string | undefined, string] => [message.deliveryId, message.text]),
    ),
  );
  return (delivery) => sentTexts.of(delivery.id) ?? texts.get(delivery.id) ?? null;
}
