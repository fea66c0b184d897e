/** The routes of the phone, by the server that has them. Must not know what they do. */
import type { Route } from '../common/route.ts';
import { callRoutes } from './calls.ts';
import { demoRoutes } from './demo.ts';
import { numberRoutes } from './number.ts';
import { registrationRoutes } from './registration.ts';
import { textRoutes } from './texts.ts';

export { phoneEngineRoutes } from './texts.ts';

/** Routes of the cloud; without a carrier each answers 503 `phone_not_configured`. */
export const phoneRoutes: readonly Route[] = [
  ...numberRoutes,
  ...registrationRoutes,
  ...textRoutes,
  ...callRoutes,
  ...demoRoutes,
];
