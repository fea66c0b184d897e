/** Checks of this program for `gantry doctor`, in the order in which its parts added them, each once it was there. */
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';

type Check = () => Promise<readonly DoctorCheck[]> | readonly DoctorCheck[];

export function createChecks(): { add(check: Check): void; run(): Promise<readonly DoctorCheck[]> } {
  const checks: Check[] = [];
  return {
    add: (check) => void checks.push(check),
    run: async () => (await Promise.all(checks.map((check) => check()))).flat(),
  };
}
