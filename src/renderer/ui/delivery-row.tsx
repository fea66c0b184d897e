/** One delivery in a line: its state, the witness of it in words, what was said, when. */
import { agentStates, type HarnessName } from '../../contracts/factory/agent.ts';
import { type Delivery, partyWords } from '../../contracts/factory/delivery.ts';
import { Ago } from './now.tsx';
import { agentStatus, deliveryStatus, Status } from './status.tsx';

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
      return 'its input line accepted it';
    case 'exec':
      return 'its command finished';
    case 'model':
      return 'the model answered it';
    case 'acp':
      return 'the agent answered it';
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

/** Who sent it to whom; where the sender is not known yet, only to whom. */
export function deliveryParties({ from, to }: Pick<Delivery, 'from' | 'to'>, toName = to): string {
  return from === undefined ? `to ${toName}` : `${partyWords(from)} → ${toName}`;
}

export function DeliveryRow({
  delivery,
  harness,
  text,
  toName,
}: {
  delivery: Delivery;
  harness: HarnessName | undefined;
  /** The words of the message; null where they are not known. */
  text: string | null;
  /** What the page calls who gets it; else its address. */
  toName?: string | undefined;
}) {
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
      <span className="min-w-0 flex-1 truncate text-ink" title={text ?? undefined}>
        <span className="text-muted">
          {deliveryParties(delivery, toName)}
          {text !== null && ': '}
        </span>
        {text}
      </span>
      <span className="shrink-0 text-faint">
        <Ago at={delivery.at} />
      </span>
    </li>
  );
}
