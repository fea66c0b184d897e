/**
 * Several questions that one rule of the policy would allow, offered to be answered together with the rule in view. Which rule, and which questions, the
 * computer says. Must not know how they are answered.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { visible } from '../../../contracts/approvals/visible.ts';
import { useBots } from '../../base/floors.tsx';
import { OnComputer, useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';

export interface OfferedRule {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly sha256: string;
  /** All that the rule would allow. */
  readonly approvalIds: readonly string[];
  /** Whose policy it is; null: of the computer that needs no name. */
  readonly computer: string | null;
}

interface Offer {
  readonly rule: OfferedRule;
  /** Of those that it would allow, what still waits. */
  readonly approvals: readonly Approval[];
}

export function RuleOffers({ pending, onOffer }: { pending: readonly Approval[]; onOffer: (offer: Offer) => void }) {
  const bots = useBots();
  const placeOf = new Map(bots.map((bot) => [bot.id, bot.place.scope]));
  const byPlace = Map.groupBy(
    pending.filter(({ agentId }) => agentId !== null && placeOf.has(agentId)),
    ({ agentId }) => placeOf.get(agentId ?? '') ?? null,
  );
  return [...byPlace]
    .filter(([, list]) => list.length > 1)
    .map(([computer, list]) => (
      <OnComputer key={computer ?? ''} computer={computer}>
        <OffersHere pending={list} onOffer={onOffer} />
      </OnComputer>
    ));
}

function OffersHere({ pending, onOffer }: { pending: readonly Approval[]; onOffer: (offer: Offer) => void }) {
  const { api, keys, computer } = useServices();
  const { data } = useQuery({
    queryKey: keys.on('rule-proposals', pending.map(({ id }) => id).join(' ')),
    queryFn: ({ signal }) => api.factory.proposePolicyRules({}, { signal }),
    placeholderData: keepPreviousData,
    // Without it, each question can still be answered on its own.
    retry: false,
  });
  const offers = (data?.proposals ?? []).flatMap((rule): Offer[] => {
    const approvals = pending.filter(({ id }) => rule.approvalIds.includes(id));
    return approvals.length < 2 ? [] : [{ rule: { ...rule, computer }, approvals }];
  });
  if (offers.length === 0) return null;
  return (
    <ul aria-label="Questions that a rule would cover" className="flex flex-col gap-2">
      {offers.map((offer) => {
        const many = countWords(offer.approvals.length, 'question');
        return (
          <li
            key={offer.rule.rule}
            data-offer={offer.approvals.length}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-panel border border-line px-3 py-2"
          >
            <span className="min-w-0 flex-1 basis-64">
              <span className="block">One rule would cover {many}</span>
              <code
                className="line-clamp-2 font-mono text-code break-words text-muted"
                title={visible(offer.rule.rule)}
              >
                {whenOf(offer.rule.rule)}
              </code>
            </span>
            <Button aria-label={`Review ${many} with their rule`} onClick={() => onOffer(offer)}>
              Review {offer.approvals.length}…
            </Button>
          </li>
        );
      })}
    </ul>
  );
}

/** What the rule asks for, on one line. */
const whenOf = (rule: string): string =>
  visible(rule)
    .split('\n')
    .slice(1, -2)
    .map((line) => line.trim())
    .join('  ');
