/** The campaign of one computer: its runs, the person who looks after them, and what became of them by its ledger and its programs' own word. */
import type { Caller } from '../../support/bench/http.ts';
import type { Seen } from '../system.ts';
import type { Computer } from './computer.ts';
import { linesOf, reportsOf, turnsNow } from './journal.ts';
import { recorded, stepsOf } from './look.ts';
import { boardOf, cardsOf, createPerson } from './person.ts';

export type SeenOfCampaign = Pick<
  Seen,
  'reports' | 'applied' | 'refusedLater' | 'steps' | 'atWork' | 'ends' | 'begun' | 'runs' | 'surprises'
>;

export interface Campaign {
  /** One more run, unless enough are open. */
  work(): Promise<void>;
  attend(): Promise<void>;
  isAtRest(): Promise<boolean>;
  seen(): Promise<SeenOfCampaign>;
  counts(): { readonly runs: number; readonly answers: number; readonly retries: number };
}

const openRuns = 5;
const closed = ['done', 'failed', 'skipped', 'cancelled'];

/** `surface`: where its person answers questions; asked for each time, because the program that serves it may be another one by then. */
export function createCampaign(computer: Computer, surface: () => Pick<Caller, 'call'>): Campaign {
  const person = createPerson();
  const caller = (): Caller => computer.product().engine;
  const cards = async () => (person.begun.length === 0 ? [] : cardsOf(await boardOf(caller())));
  const isOpen = ({ status }: { readonly status: string }) => !closed.includes(status);
  return {
    async work() {
      const open = new Set((await cards()).filter(isOpen).map(({ dagId }) => dagId));
      if (open.size < openRuns) await person.begin(caller());
    },
    attend: async () => person.attend(caller(), surface()),
    isAtRest: async () => !(await cards()).some(isOpen),
    async seen() {
      const lines = linesOf(computer.journal);
      const { steps, runs } = await stepsOf(caller(), surface());
      const { applied, refusedLater, ends } = recorded(computer.runtimeFile);
      return {
        reports: reportsOf(lines),
        applied: [...applied, ...steps.flatMap(({ output }) => output ?? [])],
        refusedLater,
        steps,
        atWork: turnsNow(lines),
        ends,
        begun: person.begun,
        runs,
        surprises: person.surprises,
      };
    },
    counts: () => ({ runs: person.begun.length, ...person.counts() }),
  };
}

/** What was seen of several computers, as one. */
export function together(all: readonly SeenOfCampaign[]): SeenOfCampaign {
  return {
    reports: all.flatMap(({ reports }) => reports),
    applied: all.flatMap(({ applied }) => applied),
    refusedLater: new Set(all.flatMap(({ refusedLater }) => [...refusedLater])),
    steps: all.flatMap(({ steps }) => steps),
    atWork: new Set(all.flatMap(({ atWork }) => [...atWork])),
    ends: all.flatMap(({ ends }) => ends),
    begun: all.flatMap(({ begun }) => begun),
    runs: new Set(all.flatMap(({ runs }) => [...runs])),
    surprises: all.flatMap(({ surprises }) => surprises),
  };
}
