/** What is shown as proven: only what somebody or something other than its bot checked. */
import { expect, test } from 'vitest';
import { nodeLook, runLook } from '../../../src/renderer/ui/status.tsx';

test('a step that only its bot reported done says so without the colour of proof', () => {
  expect(nodeLook({ status: 'done', cause: 'reported' })).toMatchObject({ word: 'Done', tone: 'muted' });
  expect(nodeLook({ status: 'done', cause: 'proven' })).toMatchObject({ word: 'Done', tone: 'proven' });
  expect(nodeLook({ status: 'done', cause: 'accepted' })).toMatchObject({ tone: 'proven' });
  expect(nodeLook({ status: 'working', cause: 'claimed' })).toMatchObject({ word: 'Working' });
});

test('a run with such a step is done and not proven, and what did not end well keeps its look', () => {
  const proven = { status: 'done', cause: 'proven' } as const;
  const reported = { status: 'done', cause: 'reported' } as const;
  expect(runLook('done', [proven])).toMatchObject({ word: 'Done', tone: 'proven' });
  expect(runLook('done', [proven, reported])).toMatchObject({ word: 'Done', tone: 'muted' });
  expect(runLook('failed', [proven, reported])).toMatchObject({ word: 'Failed' });
});
