/**
 * Gantry with the demo phone: the simulated carrier is a program of its own, its handsets are held by the test, and bots that a model
 * server answers for get what they text.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '../../support/model-server/server.ts';
import type { Locator, Page } from './browser.ts';
import { type Gantry, startGantry } from './gantry.ts';
import { ownerCall } from './owner-call.ts';

const team = `bots:
  - bot: clerk
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
  - bot: night
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
`;

export interface PhoneTeam {
  readonly gantry: Gantry;
  readonly model: ModelServer;
  call<T = { id: string }>(method: string, path: string, body?: unknown): Promise<T>;
  close(): Promise<void>;
}

/** With the bots `clerk` and `night`, and a carrier that takes no time. */
export async function startPhoneTeam(): Promise<PhoneTeam> {
  const model = await startModelServer();
  const gantry = await startGantry({
    workspace: 'empty',
    demoPhone: true,
    env: { GANTRY_EGRESS_ALLOW: '127.0.0.1' },
    settings: { models: { endpoints: { local: { wire: 'openai', baseUrl: `${model.url}/v1` } } } },
  });
  const desk = join(gantry.workspace, '.gantry', 'teams', 'desk');
  mkdirSync(desk, { recursive: true });
  writeFileSync(join(desk, 'team.yaml'), team);
  await gantry.agree();
  const call: PhoneTeam['call'] = (...asked) => ownerCall(gantry, ...asked);
  await call('POST', '/api/factory/teams/desk/up', {});
  await call('POST', '/api/v1/phone/demo/speed', { speed: 'instant' });
  return {
    gantry,
    model,
    call,
    async close() {
      await gantry.remove();
      await model.close();
    },
  };
}

/** Carrier, cloud, computer and bot each take their time on a busy machine. Milliseconds. */
export const patience = { timeout: 90_000 };
export const button = (page: Page | Locator, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
export const status = (page: Page, word: string) =>
  page.getByRole('status').getByText(word, { exact: true }).waitFor(patience);
export const handset = (page: Page, name: string) =>
  page.getByRole('listitem', { name: `Handset of ${name}`, exact: true });
