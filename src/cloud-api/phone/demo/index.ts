/**
 * The demo phone's own side: shows and operates the simulated carrier's handsets through its control interface. Open only to the owner of this
 * computer; with a real carrier these routes do not exist. Must not know what the phone does with a text or a call.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import * as contract from '../../../contracts/phone/demo.ts';
import { type BoundRoute, bind, bindPassThrough } from '../../../kit/http/types.ts';
import type { PhonePart } from '../part.ts';

/** The address and key of the simulated carrier's control interface. */
export interface DemoControl {
  /** Without a path. */
  readonly origin: string;
  readonly apiKey: string;
}

const patienceMs = 5_000;

export function createDemo({
  control,
  fetch: dial = fetch,
}: {
  /** Null: the carrier is real. */
  readonly control: DemoControl | null;
  readonly fetch?: typeof fetch;
}): PhonePart {
  if (control === null) return { routes: contract.demoRoutes.map(notHere) };
  const { origin, apiKey } = control;

  async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    let response: Response;
    try {
      response = await dial(`${origin}/sim${path}`, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(patienceMs),
      });
    } catch (cause) {
      throw new AppError('refused', 'The demo phone does not answer.', 'It restarts automatically: try again soon.', {
        wireCode: 'unavailable',
        cause,
      });
    }
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    throw refusal(response.status, answer);
  }

  const overview = async (...asked: Parameters<typeof ask>) => ({
    body: contract.DemoPhone.parse(await ask(...asked)),
  });
  const of = (e164: string) => `/handsets/${encodeURIComponent(e164)}`;

  return {
    routes: [
      bind(contract.getDemoPhone, () => overview('GET', '')),
      bind(contract.setDemoSpeed, ({ body }) => overview('POST', '/speed', body)),
      bind(contract.addHandset, async ({ body }) => ({
        body: contract.addHandset.answers[201].parse(await ask('POST', '/handsets', body)),
      })),
      bind(contract.textFromHandset, ({ params, body }) => overview('POST', `${of(params.e164)}/text`, body)),
      bind(contract.callFromHandset, ({ params, body }) => overview('POST', `${of(params.e164)}/call`, body)),
      bind(contract.answerOnHandset, ({ params, body }) =>
        overview('POST', `${of(params.e164)}/calls/${encodeURIComponent(params.call)}`, body),
      ),
      bind(contract.demoPorts, ({ params, body }) =>
        overview('POST', `/ports/${encodeURIComponent(params.orderId)}`, body),
      ),
    ],
  };
}

function notHere(route: BoundRoute['route']): BoundRoute {
  return bindPassThrough(route, () => {
    throw new AppError(
      'not_found',
      'No demo phone is running here.',
      'Stop Gantry, and start it with gantry start --demo-phone and without a carrier.',
    );
  });
}

/** Maps what a person pressed to the simulated carrier's words. */
function refusal(status: number, answer: unknown): AppError {
  const said = (answer as { errors?: { detail?: unknown }[] } | null)?.errors?.[0]?.detail;
  const fact = typeof said === 'string' ? said : `The demo phone answered ${status}.`;
  if (status === 404) return new AppError('not_found', fact, 'Reload the handsets.');
  if (status === 409) return new AppError('refused', fact, 'Reload the handsets.', { status: 409 });
  if (status >= 500) return new AppError('internal', fact, 'Try it again.');
  return new AppError('usage', fact, 'Correct it and try again.');
}
