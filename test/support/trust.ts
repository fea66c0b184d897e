/** A person who trusted everything in the folder: for tests of parts that need that trust. */
import type { FileTrust } from '../../src/runtime-server/trust/index.ts';

export const everythingAgreed: FileTrust & {
  demandSettings(): void;
  sayYes(): Promise<void>;
} = {
  judge: (_, text) => ({ waits: false, counts: text }),
  demandSettings() {},
  sayYes: async () => {},
};

/**
 * The person's yes to all that waits, through the product's own door: what a test writes into a workspace by hand is nobody's word
 * otherwise. `factory` is the address of `/api/factory`.
 */
export async function agreeToAll(factory: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const shown = await fetch(`${factory}/workspace/trust`, { headers });
  if (!shown.ok) throw new Error(`What waits cannot be read: ${shown.status} ${await shown.text()}`);
  const { hash, files } = (await shown.json()) as { hash: string | null; files: { loads: { name: string }[] }[] };
  if (hash === null) return;
  const names = files.flatMap((file) => file.loads.map(({ name }) => name));
  const answered = await fetch(`${factory}/workspace/trust`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ answer: 'yes', hash, names }),
  });
  if (!answered.ok) throw new Error(`Nobody could agree: ${answered.status} ${await answered.text()}`);
}
