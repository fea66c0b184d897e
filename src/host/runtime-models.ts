/** The models of a runtime: combines environment, settings.json and the person's stored keys. */
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import type { BoundRoute } from '../kit/http/types.ts';
import type { Ledger } from '../kit/ledger/ledger.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import type { Store } from '../kit/store/store.ts';
import {
  type ComputerUseSettings,
  createModels,
  createStoredModels,
  type ModelSettings,
  type Models,
  type ModelsDeps,
} from '../runtime-server/models/index.ts';

export async function createRuntimeModels(deps: {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly masterKey: string;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As settings.json has them. */
  readonly models?: ModelSettings | undefined;
  readonly computerUse?: ComputerUseSettings | undefined;
  readonly log: { error(message: string, facts: Record<string, unknown>): void };
  readonly spent: ModelsDeps['spent'];
  readonly telemetry: ModelsDeps['telemetry'];
}): Promise<{ models: Models; modelRoutes: readonly BoundRoute[] }> {
  const { store, ledger, masterKey, clock, env, models: settings, computerUse, log, spent, telemetry } = deps;
  const sealer = createSealer({ masterKey, purpose: 'models' });
  const kept = await createStoredModels({ store, ledger, sealer, clock, env, endpoints: settings?.endpoints, log });
  const models = createModels({
    settings: { ...settings, endpoints: kept.endpoints },
    computerUse,
    env: kept.env,
    clock,
    timers: systemTimers,
    random: Math.random,
    spent,
    telemetry,
  });
  return { models, modelRoutes: kept.routes };
}
