import { expect, test } from 'vitest';
import { type Schedule, ScheduleRequest } from '../../../../src/contracts/factory/schedules-routes.ts';
import { sameSchedule } from '../../../../src/renderer/areas/work/schedule-form.ts';

const schedule: Schedule = {
  id: 'sch_1',
  title: 'Nightly',
  run: { template: 'fix', params: { check: 'npm test' }, campaignId: 'project-web' },
  cron: '0 2 * * *',
  at: null,
  timezone: 'Europe/Berlin',
  paused: true,
  runMissed: true,
  next: [],
  last: null,
  missed: 3,
  createdAt: '2026-11-22T06:00:00.000Z',
};

test('a removed schedule is created again with its times, its run and its pause', () => {
  const { title, run, cron, timezone, paused, runMissed } = schedule;
  expect(ScheduleRequest.parse(sameSchedule(schedule))).toEqual({ title, run, cron, timezone, paused, runMissed });
});

test('one that runs once keeps its time', () => {
  const once = { ...schedule, cron: null, at: '2027-01-01T00:00:00.000Z' };
  expect(ScheduleRequest.parse(sameSchedule(once))).toMatchObject({ at: once.at });
});
