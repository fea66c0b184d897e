/** Adds a rule to the policy of a computer as it was shown, and offers to take it out again. */
import type { Connection } from './data/connections.ts';
import { useServices } from './services.tsx';
import { useOfferUndo } from './undo.ts';

type AddRule = Connection['api']['factory']['addPolicyRule'];

/** `computer`: its scope; null: the one that answers when none is named. */
export function useAddRule(): (computer: string | null, body: Parameters<AddRule>[0]['body']) => Promise<void> {
  const { connections } = useServices();
  const offerUndo = useOfferUndo();
  return async (computer, body) => {
    const { factory } = connections.on(computer).api;
    const added = await factory.addPolicyRule({ body });
    if ('dryRun' in added) return;
    const { path, sha256 } = added;
    offerUndo(`Rule added to ${path}`, () => factory.removeAddedRule({ query: { sha256 } }));
  };
}
