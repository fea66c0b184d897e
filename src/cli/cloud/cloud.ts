/**
 * `gantry cloud`: starts the multi-user cloud API in this process, prints its address, and runs until it is stopped. Imports the server only here.
 */
import { readCloudSettings } from '../../host/cloud-settings.ts';
import { giveBackStartMemory } from '../../host/give-back-memory.ts';
import { beginUnwatched } from '../../host/watchdog.ts';
import { type Action, optionalText } from '../command.ts';
import { makeMasterKeyIfAsked } from '../new-master-key.ts';
import { watchServer } from '../start/watched.ts';

export const cloud: Action = async (context, input) => {
  beginUnwatched(context.env);
  makeMasterKeyIfAsked(context, input);
  const settings = readCloudSettings(context.env, {
    baseUrl: optionalText(input, 'baseUrl'),
    listen: optionalText(input, 'listen'),
    oidcIssuer: optionalText(input, 'oidcIssuer'),
    oidcClientId: optionalText(input, 'oidcClientId'),
    oidcClientSecretFile: optionalText(input, 'oidcClientSecretFile'),
    trustedProxy: optionalText(input, 'trustedProxy'),
    replicaUrl: optionalText(input, 'replicaUrl'),
    eventsEdgeUrl: optionalText(input, 'eventsEdgeUrl'),
  });
  // A signal that comes while the server starts is kept until it can be ended in order.
  const told = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
  const { startHeadless } = await import('../../host/headless.ts');
  const server = await startHeadless({ settings, gantry: context.names.gantry, env: context.env });
  for (const notice of server.notices) context.output.note(notice);
  const { origin, listens, home } = server;
  context.output.result({ url: origin, listens, issuer: settings.oidc.issuer, home, pid: process.pid }, () =>
    [
      'Gantry cloud is ready.',
      '',
      `  Address  ${origin}`,
      `  Listens  ${listens}`,
      `  Sign-in  ${settings.oidc.issuer}`,
      `  Data     ${home}`,
      '',
    ].join('\n'),
  );
  const watchdog = watchServer(context.env, home);
  giveBackStartMemory();
  await told;
  watchdog.end();
  await server.close();
  context.output.note('Stopped.');
  // Whatever still waits (a socket half closed) must not keep a stopped server alive.
  setTimeout(() => process.exit(0), 500).unref();
  return 0;
};
