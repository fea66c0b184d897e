/**
 * Every route of the interface that a later part brings. Each answers that it is not built yet: in the factory 404
 * `not_found`, elsewhere 501 `not_built` (gaps.md C, "CLI parts and verbs"). A part that builds one moves it from here into
 * its area's table; a test fails while a route stands in both.
 */
import type { ErrorShape, Method } from './common/route.ts';

export interface UnbuiltRoute {
  readonly method: Method;
  readonly path: string;
  readonly area: string;
  /** As a person would say it; for the factory `<part> <verb>`, as in the CLI. */
  readonly name: string;
  readonly errors: ErrorShape;
  /** Which server will serve it. */
  readonly server: 'engine' | 'cloud' | 'both';
  /** No credential is asked for: a page, or a caller that signs its body. */
  readonly public?: true;
}

type Line = readonly [method: Method, path: string, name: string];

function table(
  area: string,
  errors: ErrorShape,
  server: UnbuiltRoute['server'],
  lines: readonly Line[],
  open?: 'public',
): UnbuiltRoute[] {
  return lines.map(([method, path, name]) => ({
    method,
    path,
    area,
    name,
    errors,
    server,
    ...(open === 'public' ? { public: true as const } : {}),
  }));
}

const numbers = '/api/v1/phone/numbers';
const phone = [
  ...table('phone', 'plain', 'cloud', [
    ['GET', `${numbers}/search`, 'search numbers'],
    ['GET', numbers, 'list numbers'],
    ['POST', numbers, 'buy a number'],
    ['POST', `${numbers}/port`, 'port a number'],
    ['GET', `${numbers}/:id/port`, 'the state of a port'],
    ['PATCH', `${numbers}/:id`, 'move a number'],
    ['DELETE', `${numbers}/:id`, 'release a number'],
    ['GET', `${numbers}/:id/registration`, 'the registration of a number'],
    ['POST', `${numbers}/:id/registration`, 'register a number'],
    ['POST', `${numbers}/:id/registration/otp`, 'confirm a registration'],
    ['POST', `${numbers}/:id/consent`, 'record consent'],
    ['GET', `${numbers}/:id/invites`, 'list invites'],
    ['POST', `${numbers}/:id/invites`, 'make an invite'],
    ['DELETE', `${numbers}/:id/invites/:invite`, 'withdraw an invite'],
    ['POST', '/api/v1/channels/sms/send', 'send a text'],
    ['POST', '/api/v1/phone/calls/outbound', 'ask for a call'],
    ['POST', '/api/v1/voice/calls/:callId/control', 'control a call'],
    ['PUT', '/api/v1/voice/bot-config/:botId', 'transfer targets'],
    ['POST', '/internal/voice/calls', 'dial'],
  ]),
  ...table('phone', 'plain', 'engine', [['POST', '/webhooks/channels/sms', 'receive a text']]),
  ...table(
    'phone',
    'plain',
    'cloud',
    [
      ['GET', '/sms/:numberId', 'the opt-in page'],
      ['POST', '/channels/in/:address', 'the relay address'],
      ['POST', '/api/v1/phone/webhooks/:carrier', 'carrier events'],
    ],
    'public',
  ),
];

const backbone = table('link', 'plain', 'engine', [['POST', '/api/v1/runtime/resync', 'resynchronise']]);

export const unbuiltRoutes: readonly UnbuiltRoute[] = [...phone, ...backbone];
