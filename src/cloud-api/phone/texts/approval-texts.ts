/** Asks the person for approvals on their own phone: one text for each approval, with the code that answers it. Must not know SQL. */
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { visibleLine } from '../../../contracts/approvals/visible.ts';
import { AppError } from '../../../contracts/common/errors.ts';
import type { SharedReader, SharedStore } from '../../../kit/store/shared-store.ts';
import type { EventBackbone } from '../../events/backbone.ts';
import { refusedDestination } from '../e164.ts';
import { isOfBots, type Numbers, type OptOuts } from '../ports.ts';
import type { Outbound } from './outbound.ts';
import type { OwnPhones } from './own-phone.ts';

/** Characters; a few parts of a text. */
const maxAskedLength = 300;
const maxTitleLength = 90;

/** The whole question, to the last character; null if no text can hold it: nobody approves a command that they saw only in part. */
function wholeOf({ title, summary, details = [] }: Pick<Approval, 'title' | 'summary' | 'details'>): string | null {
  // On one line: the lines after it are Gantry's.
  const command = visibleLine(summary === '' || summary === title ? title : `${title}: ${summary}`);
  const asked = [command, ...details.map(({ name, text }) => `${name}: ${visibleLine(text)}`)].join('\n');
  return asked.length > maxAskedLength ? null : asked;
}

/** Never part of the approved action, so it may be cut. */
const reasonLine = (reason: string | undefined) =>
  reason === undefined ? '' : `\nIts reason: "${shortened(visibleLine(reason))}"\n`;

const shortened = (title: string) => (title.length > maxTitleLength ? `${title.slice(0, maxTitleLength - 1)}…` : title);

/** Returns a function that unsubscribes. */
export function followApprovals(deps: {
  readonly store: SharedStore;
  readonly events: Pick<EventBackbone, 'follow'>;
  /** Throws if it cannot be answered any more. */
  readonly approvals: {
    check(
      id: string,
      userId: string,
    ): Promise<Pick<Approval, 'title' | 'summary' | 'details' | 'reason' | 'expiresAt'>>;
  };
  readonly own: Pick<OwnPhones, 'confirmed' | 'codeFor'>;
  readonly numbers: Pick<Numbers, 'read' | 'byE164'>;
  readonly optOuts: Pick<OptOuts, 'isOptedOut'>;
  readonly outbound: Pick<Outbound, 'queue'>;
  readonly countries: readonly string[];
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): () => void {
  const { store, own } = deps;

  async function ask(approvalId: string, userId: string): Promise<void> {
    const phone = await store.read((tx: SharedReader) => own.confirmed(tx, userId));
    if (phone === null || refusedDestination(phone.e164, deps.countries) !== null) return;
    if (await isOfBots(deps.numbers, phone.e164)) return;
    const approval = await deps.approvals.check(approvalId, userId);
    const { title, reason, expiresAt } = approval;
    await store.write(function* (tx) {
      const held = yield* own.confirmed(tx, userId);
      const number = held === null ? null : yield* deps.numbers.read(tx, held.numberId);
      if (held === null || number === null || number.userId !== userId || number.smsState !== 'active') return;
      if (yield* deps.optOuts.isOptedOut(tx, number.id, held.e164)) return;
      const asked = wholeOf(approval);
      const code = asked === null ? '' : yield* own.codeFor(tx, approvalId, userId, Date.parse(expiresAt));
      if (code === null) return;
      const text =
        asked === null
          ? `Gantry: ${shortened(visibleLine(title))} - open Gantry to read it in full and answer.`
          : `Gantry: ${asked}${reasonLine(reason)} - reply YES ${code} to approve or NO ${code} to reject.`;
      yield* deps.outbound.queue(tx, number, { to: held.e164, text, by: 'service', kind: 'approval' });
    });
  }

  return deps.events.follow(['approval.requested'], ({ sourceId, userId }) =>
    ask(sourceId, userId).catch((fault: unknown) => {
      // Answered or expired in the meantime.
      if (fault instanceof AppError && (fault.code === 'refused' || fault.code === 'not_found')) return;
      deps.log.warn('An approval could not be texted to its person.', { approval: sourceId, fault: String(fault) });
    }),
  );
}
