import { expect, test } from 'vitest';
import { computerModelCheck } from '../../src/host/runtime-checks.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { createModels } from '../../src/runtime-server/models/index.ts';

const checkWith = (env: Record<string, string>, model?: string) =>
  computerModelCheck(
    createModels({
      env,
      settings: { endpoints: { local: { wire: 'openai', baseUrl: 'http://127.0.0.1:11434/v1' } } },
      computerUse: { model },
      clock: systemClock,
      timers: systemTimers,
      random: () => 0,
    }),
  );

test('the doctor says which model uses a computer and in which form, or which setting has to be set', () => {
  expect(checkWith({}, 'local/qwen')).toMatchObject({
    state: 'ok',
    detail: 'local/qwen at local (127.0.0.1:11434), with plain functions.',
    fix: null,
  });
  expect(checkWith({ ANTHROPIC_API_KEY: 'k' })).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/at api\.anthropic\.com, with its own toolset\.$/),
  });
  expect(checkWith({})).toMatchObject({ state: 'unknown', fix: expect.stringContaining('computerUse.model') });
});
