/** Which model a run uses, and in which form it is offered the toolsets: by what was named, then by what can be asked. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createModels, type ModelsDeps } from '../../../../src/runtime-server/models/index.ts';
import { known } from '../../../../src/runtime-server/models/toolsets/which.ts';

const models = (env: Record<string, string>, computerUse?: ModelsDeps['computerUse']) =>
  createModels({
    env,
    settings: { endpoints: { local: { wire: 'openai', baseUrl: 'http://127.0.0.1:1/v1' } } },
    computerUse,
    clock: systemClock,
    timers: systemTimers,
    random: () => 0,
  });
const keys = { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k', GEMINI_API_KEY: 'k' };

test.each([
  ['claude-opus-4-8', 'native'],
  ['claude-sonnet-4-6', 'native'],
  ['anthropic/claude-haiku-5-5', 'native'],
  ['claude-sonnet-4-5-20250929', 'functions'],
  ['gpt-5.5', 'native'],
  ['gpt-6-astra', 'native'],
  ['gpt-5-mini', 'functions'],
  ['gpt-4o', 'functions'],
  ['gemini-2.5-computer-use-preview-10-2025', 'native'],
  ['gemini-3.8-flash', 'native'],
  ['gemini-2.5-flash', 'functions'],
  ['gemini-3.8-flash-tts', 'functions'],
  ['local/gpt-5.5', 'functions'],
])('%s is offered the toolsets as %s', (name, form) => {
  expect(models(keys).findForComputer(name)).toMatchObject({ name, form });
});

test('at an address of one’s own a vendor’s model is offered functions, until settings say that it takes more', () => {
  const env = { ...keys, ANTHROPIC_BASE_URL: 'https://gateway.example' };
  expect(models(env).findForComputer('claude-opus-4-8')).toMatchObject({ form: 'functions' });
  for (const name of ['anthropic', 'claude-opus-4-8']) {
    const said = models(env, { toolsets: { [name]: 'native' } });
    expect(said.findForComputer('claude-opus-4-8')).toMatchObject({ form: 'native' });
    expect(said.findForComputer('gpt-5.5')).toMatchObject({ form: 'native' });
  }
  const off = models(keys, { toolsets: { 'gpt-5.5': 'functions', local: 'native' } });
  expect(off.findForComputer('gpt-5.5')).toMatchObject({ form: 'functions' });
  expect(off.findForComputer('local/x')).toMatchObject({ form: 'native', target: { model: 'x' } });
});

test('a run’s own model comes first, then the one of the settings, then the first vendor whose key is there', () => {
  const set = { model: 'local/x' };
  expect(models(keys, set).findForComputer('gpt-5.5')).toMatchObject({ name: 'gpt-5.5' });
  expect(models(keys, set).findForComputer(null)).toMatchObject({ name: 'local/x', form: 'functions' });
  expect(models(keys).findForComputer(null)).toMatchObject({ target: { where: 'api.anthropic.com' }, form: 'native' });
  expect(models({ GEMINI_API_KEY: 'k' }).findForComputer(null)).toMatchObject({ target: { wire: 'google' } });
});

test('without any the setting is named, and so is a key that is missing', () => {
  const none = { problem: { action: expect.stringContaining('computerUse.model') } };
  expect(models({}).findForComputer(null)).toMatchObject(none);
  // A key for another address says nothing about what is there.
  expect(models({ ...keys, ...elsewhere }).findForComputer(null)).toMatchObject(none);
  expect(models({}).findForComputer('claude-opus-4-8')).toMatchObject({
    problem: { fact: expect.stringContaining('ANTHROPIC_API_KEY') },
  });
  expect(models(keys, { model: 'unknown-model' }).findForComputer(null)).toHaveProperty('problem');
});
const elsewhere = {
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
  OPENAI_BASE_URL: 'http://127.0.0.1:1',
  GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:1',
};

test.each(known.map((one) => [one.defaultModel, one] as const))(
  '%s, asked where nobody named one, is among the known ones',
  (_n, one) => {
    expect(one.defaultModel).toMatch(one.models);
  },
);
