/** The models of a runtime: combines environment, settings.json and the person's stored keys. */
import type { BoundRoute } from '../kit/http/types.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import {
  type ComputerUseSettings,
  createModels,
  createStoredModels,
  type ModelSettings,
  type Models,
  type ModelsDeps,
} from '../runtime-server/models/index.ts';
import type { RuntimeCore } from './runtime-core.ts';

export async function createRuntimeModels({
  models: settings,
  computerUse,
  spent,
  ...core
}: RuntimeCore & {
  /** As settings.json has them. */
  readonly models: ModelSettings | undefined;
  readonly computerUse: ComputerUseSettings | undefined;
  readonly spent: ModelsDeps['spent'];
}): Promise<{ models: Models; modelRoutes: readonly BoundRoute[] }> {
  const sealer = createSealer({ masterKey: core.masterKey, purpose: 'models' });
  const kept = await createStoredModels({ ...core, sealer, endpoints: settings?.endpoints });
  const models = createModels({
    ...core,
    settings: { ...settings, endpoints: kept.endpoints },
    computerUse,
    env: kept.env,
    random: Math.random,
    spent,
  });
  return { models, modelRoutes: kept.routes };
}
