/** One computer's life at a driver, as it was recorded at a real engine and is played again in `npm test`. */
import type { ComputerSpec, DriverChange, HostedDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';

export const lifeOf: ComputerSpec = {
  computer: 'cmp_000000000042',
  key: 'cmp_000000000042.1',
  image: null,
  limits: { memory: 512, processes: 200 },
  toolset: 'shell',
  egress: 'public',
  lifetime: 600_000,
};

/** Each step with the state that it led to, and what a watch heard meanwhile. `heard` waits for that many changes. */
export async function playLife(driver: HostedDriver, heard: (changes: readonly DriverChange[]) => Promise<void>) {
  const { computer } = lifeOf;
  const changes: DriverChange[] = [];
  const missed: string[] = [];
  const end = driver.watch(null, { changed: (change) => changes.push(change), missed: () => missed.push('missed') });
  try {
    const states = [await driver.create(lifeOf), await driver.start(computer)];
    await driver.sleep(computer);
    states.push((await driver.inspect(computer))!, await driver.wake(computer));
    await driver.stop(computer);
    states.push((await driver.inspect(computer))!);
    await driver.delete(computer);
    const left = await driver.inspect(computer);
    await heard(changes);
    return { states, left, changes, missed };
  } finally {
    end();
  }
}
