/** The oracle finds each fault that it is there for, and nothing in a campaign without one. */
import { expect, test } from 'vitest';
import type { Report, Seen, Step, Task } from './system.ts';
import { judge, type Verdicts } from './verdicts.ts';

const report = (token: string, more: Partial<Report> = {}): Report => ({
  token,
  kind: 'progress',
  run: 'r1',
  step: 's1',
  attempt: 1,
  answer: 'taken',
  id: null,
  ...more,
});
const step = (more: Partial<Step> = {}): Step => ({
  run: 'r1',
  step: 's1',
  status: 'done',
  attempt: 1,
  why: 'proven',
  output: 'ended',
  by: 'program',
  isAsked: true,
  ...more,
});
const task = (more: Partial<Task> = {}): Task => ({ id: 't1', status: 'succeeded', resultOf: 1, ran: [1], ...more });

/** One run whose step was reported on, was done and is there; one task. */
function seen(more: Partial<Seen> = {}): Seen {
  return {
    reports: [report('half'), report('ended', { kind: 'done' })],
    applied: ['half', 'ended'],
    refusedLater: new Set(),
    steps: [step()],
    atWork: new Set(),
    ends: ['r1 s1 1'],
    begun: ['r1'],
    runs: new Set(['r1']),
    created: ['t1'],
    tasks: [task()],
    events: { lost: [], twice: [] },
    surprises: [],
    ...more,
  };
}

const numbers = ({ lost, twice, stale, contradicted }: Verdicts) =>
  [lost, twice, stale, contradicted].map(({ length }) => length);

test('a campaign that ended in truth has nothing against it', () => {
  const last = report('ended', { kind: 'done' });
  const lists = [
    seen(),
    // A kept report that came back refused, one that its program was killed over, and one that was refused at once.
    seen({
      reports: [report('half', { answer: 'kept', id: 'rep_1' }), last],
      applied: ['ended'],
      refusedLater: new Set(['rep_1']),
    }),
    seen({ reports: [report('half', { answer: 'unknown' }), last], applied: ['ended'] }),
    seen({ reports: [report('half', { answer: 'refused' }), last], applied: ['ended'] }),
    // Under way, and its program says so; waiting for a person who was asked.
    seen({ steps: [step({ status: 'working' })], atWork: new Set(['r1 s1']) }),
    seen({ steps: [step({ status: 'needs_person', why: 'interrupted' }), step({ step: 's2', status: 'waiting' })] }),
    seen({ tasks: [task({ resultOf: 2, ran: [1, 2] })] }),
  ];
  for (const one of lists) expect(judge(one)).toEqual({ lost: [], twice: [], stale: [], contradicted: [] });
});

test.each<[string, Partial<Seen>, number[]]>([
  ['a taken report that is not there', { applied: ['ended'] }, [1, 0, 0, 0]],
  [
    'a kept report that is not there',
    {
      reports: [report('half', { answer: 'kept', id: 'rep_1' }), report('ended', { kind: 'done' })],
      applied: ['ended'],
    },
    [1, 0, 0, 0],
  ],
  [
    'a report that nobody heard',
    { reports: [report('half', { answer: 'unheard' }), report('ended', { kind: 'done' })], applied: ['ended'] },
    [1, 0, 0, 0],
  ],
  ['a report that is there twice', { applied: ['half', 'half', 'ended'] }, [0, 1, 0, 0]],
  [
    'a report that was refused and is there',
    { reports: [report('half', { answer: 'refused' }), report('ended', { kind: 'done' })] },
    [0, 0, 0, 1],
  ],
  ['an attempt that ended twice', { ends: ['r1 s1 1', 'r1 s1 1'] }, [0, 1, 0, 0]],
  ['the result of an attempt that was over', { steps: [step({ attempt: 2 })] }, [0, 0, 1, 0]],
  ['a step that is done and that nobody did', { steps: [step({ output: 'made up' })] }, [0, 0, 0, 1]],
  ['a step under way that nobody works on', { steps: [step({ status: 'working', why: 'delivered' })] }, [0, 0, 0, 1]],
  ['a step that waits for nothing', { steps: [step({ status: 'waiting', why: 'created' })] }, [0, 0, 0, 1]],
  ['a step that needs a person, without a word', { steps: [step({ status: 'needs_person', why: '' })] }, [0, 0, 0, 1]],
  ['a step whose person was not asked', { steps: [step({ status: 'needs_person', isAsked: false })] }, [0, 0, 0, 1]],
  ['a run that is gone', { runs: new Set() }, [1, 0, 0, 0]],
  ['a task that is gone', { tasks: [] }, [1, 0, 0, 0]],
  ['a task that never ended', { tasks: [task({ status: 'leased', resultOf: null, ran: [] })] }, [0, 0, 0, 1]],
  ['a task with the result of a lease that was over', { tasks: [task({ ran: [1, 2] })] }, [0, 0, 1, 0]],
  ['a task that ran twice under one lease', { tasks: [task({ ran: [1, 1] })] }, [0, 1, 0, 0]],
  ['an event that is gone, and one that came twice', { events: { lost: ['e1'], twice: ['e2'] } }, [1, 1, 0, 0]],
])('%s is found', (_, planted, found) => {
  expect(numbers(judge(seen(planted)))).toEqual(found);
});
