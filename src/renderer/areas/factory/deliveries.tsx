/** What became of messages: state and the witness of it in words. */
import { useQuery } from '@tanstack/react-query';
import { agentStates, type HarnessName } from '../../../contracts/factory/agent.ts';
import type { Delivery } from '../../../contracts/factory/delivery.ts';
import { useServices } from '../../app/services.tsx';
import { Ago } from '../../ui/now.tsx';
import { agentStatus, deliveryStatus, Status } from '../../ui/status.tsx';

/** Shown above the composer; the rest is in the inspector. */
const shownRows = 3;

/** Who says that a message was received, as a person would. */
export function witnessWords(evidence: Delivery['evidence'], harness: HarnessName | undefined): string | null {
  switch (evidence) {
    case null:
      return null;
    case 'hook':
      return harness === 'shell' || harness === 'custom' ? 'its shell reported it' : 'its own hook reported it';
    case 'transcript':
      return 'seen in its transcript';
    case 'composer':
      return 'its input line took it';
    case 'exec':
      return 'its command ran to the end';
    case 'model':
      return 'the model answered it';
  }
}

/** Why a message waits, as a person would say it: a reason that begins with a state's wire word gets the state's own word. */
export function detailWords(detail: string | undefined): string | null {
  if (detail === undefined) return null;
  const [, state, rest] = /^([a-z_]+)(?:: (.*))?$/s.exec(detail) ?? [];
  const known = agentStates.find((one) => one === state);
  if (known === undefined) return detail;
  const word = agentStatus[known].word.toLowerCase();
  return rest === undefined ? `it is ${word}` : `${word}: ${rest}`;
}

export function DeliveryRow({ delivery, harness }: { delivery: Delivery; harness: HarnessName | undefined }) {
  const { sentTexts } = useServices();
  const witness = witnessWords(delivery.evidence, harness);
  const said = witness ?? detailWords(delivery.detail);
  return (
    <li className="flex h-6 items-center gap-2 px-3 text-meta" data-delivery={delivery.id} data-state={delivery.state}>
      <Status look={deliveryStatus[delivery.state]} wire={delivery.state} />
      {said !== null && (
        <span
          className="max-w-[45%] shrink-0 truncate text-muted"
          title={[witness, delivery.detail].filter(Boolean).join(': ')}
        >
          {said}
        </span>
      )}
      <span className="min-w-0 flex-1 truncate text-ink">{sentTexts.of(delivery.id) ?? ''}</span>
      <span className="shrink-0 text-faint">
        <Ago at={delivery.at} />
      </span>
    </li>
  );
}

export function LastDeliveries({ agentId, harness }: { agentId: string; harness: HarnessName | undefined }) {
  const { queries } = useServices();
  const { data } = useQuery(queries.deliveriesOf(agentId));
  const rows = (data?.deliveries ?? []).slice(0, shownRows).reverse();
  // Its height never changes, so that a new delivery does not move the terminal above.
  return (
    <ul
      aria-label="Last deliveries"
      aria-live="polite"
      className="flex h-[76px] shrink-0 flex-col justify-end border-t border-line bg-panel pt-1"
    >
      {rows.length === 0 && <li className="px-3 pb-2 text-meta text-faint">Nothing was sent to this bot yet.</li>}
      {rows.map((delivery) => (
        <DeliveryRow key={delivery.id} delivery={delivery} harness={harness} />
      ))}
    </ul>
  );
}
