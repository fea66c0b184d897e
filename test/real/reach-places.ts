/** Names that the programs of `reach.ts` share. Ports are free: they lie in namespaces of their own. */
export const ports = { cloud: 8000, provider: 8001, push: 8002 } as const;

export const urls = {
  cloud: `http://localhost:${ports.cloud}`,
  provider: `http://localhost:${ports.provider}`,
  push: `http://localhost:${ports.push}`,
} as const;

/** What the bot on the other computer asks to run. */
export const command = 'touch made && ls';
