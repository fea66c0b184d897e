/** How a toll-free number is verified: one request for each number, corrected in place and never filed twice. One action for each stage. */
import { CarrierFault, type TollFreeRequest } from '../carrier/port.ts';
import { type Action, type Bench, openEin } from './bench.ts';
import type { Corrections } from './corrections.ts';
import { tollFreeOf } from './filing.ts';
import type { RegistrationRow, Stage } from './model.ts';
import { problemOf } from './refusal.ts';
import { repliesOf } from './replies.ts';
import { mover } from './ten-dlc.ts';

export function createTollFree(
  deps: Bench & {
    readonly corrections: Pick<Corrections, 'work'>;
  },
): Partial<Record<Stage, Action>> {
  const { store, registrations, carrier, paid, numbers } = deps;
  const { registry } = carrier;
  const step = mover(deps);

  function asked(row: RegistrationRow) {
    const ein = openEin(deps, row);
    // Only if it was wiped while this was under way; then there is nothing to file.
    if (ein === null) throw new CarrierFault('service', 'The EIN is no longer stored.');
    return tollFreeOf(row.form, ein, { ...deps, number: { id: row.numberId, e164: row.e164 } });
  }

  const filed = (row: RegistrationRow, text: string) =>
    step(row, 'verificationFiled', {}, { step: 'verification', state: 'working', text, field: null });

  async function file(row: RegistrationRow): Promise<boolean> {
    const { requestId } = await paid.run(`verification ${row.id}`, {
      find: () => registry.findTollFree(row.e164),
      act: () => registry.createTollFree(asked(row)),
    });
    await store.write((tx) => registrations.keep(tx, row.id, { requestId }));
    return filed(row, 'The number was filed for verification. Carriers take one to two weeks.');
  }

  async function judged(row: RegistrationRow, request: TollFreeRequest): Promise<boolean> {
    if (request.state === 'pending') return false;
    if (request.state === 'verified') {
      if (row.stage === 'approved') return false;
      const number = await numbers.find(row.numberId);
      if (number === null) return false;
      if (number.profileId !== null) {
        await carrier.numbers.setAutoResponses(number.profileId, repliesOf(row, row.form));
      }
      const text = 'The number is verified: it may send texts.';
      return step(row, 'verified', {}, { step: 'verification', state: 'done', text, field: null });
    }
    const problem = problemOf(request.reason ?? 'The carriers refused the verification and did not say why.');
    const changes = { reason: problem.text, problems: [problem] };
    return step(row, 'verificationRefused', changes, { step: 'verification', state: 'failed', ...problem });
  }

  const watch: Action = async (row) => judged(row, await registry.readTollFree(row.requestId ?? ''));

  return {
    filed: file,
    verification: watch,
    approved: async (row) => ((await deps.corrections.work(row)) ? false : watch(row)),
    async correcting(row) {
      const id = row.requestId ?? '';
      await paid.run(`verification ${row.id} correction ${row.revision}`, {
        async find() {
          const request = await registry.readTollFree(id);
          return request.state === 'rejected' ? null : request;
        },
        act: () => registry.correctTollFree(id, asked(row)),
      });
      return filed(row, 'The verification was corrected and is under review again.');
    },
  };
}
