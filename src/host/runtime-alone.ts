/**
 * A computer without a web interface, as `gantry runtime` runs it. Its person reaches it through the cloud that it is paired with, and through the
 * CLI.
 */
import type { HomeLink } from './home-link.ts';
import { type Computer, type ComputerOptions, openComputer } from './open-computer.ts';

export interface RuntimeAlone extends Computer {
  readonly pairing: HomeLink['pairing'];
  /** Questions that wait for their person: there is no page here that would show them. */
  questions(): Promise<readonly { readonly id: string; readonly title: string }[]>;
}

/** Fails with `refused` while another instance runs, and with `transport` when a port is taken; nothing is left behind. */
export function startRuntimeAlone(options: ComputerOptions): Promise<RuntimeAlone> {
  return openComputer(options, async ({ log, closing, openRuntime }) => {
    const { runtime, computer } = await openRuntime({ homeCloud: () => null });
    closing.add('streams', () => runtime.endStreams());
    await runtime.start();
    log.info('The runtime started.', { engine: computer.engineUrl, workspace: computer.workspace });
    return { ...computer, pairing: runtime.homeLink.pairing, questions: () => runtime.questions() };
  });
}
