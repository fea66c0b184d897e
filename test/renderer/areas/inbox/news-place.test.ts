import { expect, test } from 'vitest';
import { placeOf } from '../../../../src/renderer/areas/inbox/news-place.ts';

test('a notification leads to its conversation, else to the page of its event, else Home', () => {
  const thread = '/?allternit_thread=t&bot=b';
  expect(placeOf({ event: 'thread.needs_user', url: thread })).toBe(thread);
  expect(placeOf({ event: 'usage.threshold', url: '/' })).toBe('/settings/usage');
  expect(placeOf({ event: 'agent.run.completed', url: '/' })).toBe('/');
});
